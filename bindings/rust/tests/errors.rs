//! Errors have texts, and slices of a wrong length go no further.

use oriel::{sys, Dtype, Pool, Problem};

fn text<T>(result: oriel::Result<T>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn names_and_pools_that_are_wrong() {
    assert_eq!(
        text("max:f32:6:k9".parse::<Problem>()),
        "max_pool: the window must fit in the padded input, but on axis 0 it spans 9 and the padded input is 6"
    );
    assert!(text("max:f32:6\0:k2".parse::<Problem>()).contains("no zero byte"));
    let error = Pool::max([2]).stride([0]).on(Dtype::F32, &[6]).unwrap_err();
    assert_eq!(
        (error.status, error.to_string().as_str()),
        (sys::ORIEL_INVALID, "max_pool: stride must be >= 1, but axis 0 has 0")
    );
    assert!(text(Pool::max([2, 2]).stride([1, 2, 3]).on(Dtype::F32, &[6, 6, 6])).contains("as many as the others, 3"));
}

#[test]
fn slices_of_a_wrong_length_or_type() {
    let problem: Problem = "max:f32:4x4:k2".parse().unwrap();
    let mut y = [0.0f32; 4];
    assert_eq!(
        text(problem.forward(&[0.0f32; 15], &mut y)),
        "x must have 16 elements, but has 15"
    );
    assert_eq!(
        text(problem.forward(&[0.0f64; 16], &mut [0.0; 4])),
        "max_pool: x must have dtype f32, but has f64"
    );
}

#[test]
fn problems_are_shared_between_threads() {
    let problem: Problem = "sum:i32:1000:k10".parse().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut y = [0; 100];
                problem.forward(&[3; 1000], &mut y).unwrap();
                assert_eq!(y, [30; 100]);
            });
        }
    });
}

#[test]
fn the_library_says_what_it_is() {
    assert_eq!(unsafe { sys::oriel_abi() }, sys::ORIEL_C_ABI);
    assert!(oriel::version().starts_with("0."));
    let targets = oriel::supported_targets().unwrap();
    assert!(targets.contains(&oriel::active_target().unwrap()));
    assert!(text(oriel::set_target("nonsense")).contains("'nonsense'"));
    assert!(oriel::default_threads() >= 1);
}
