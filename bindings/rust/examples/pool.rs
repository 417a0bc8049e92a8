//! The largest of each 2x2 of a picture of 4x6, where it was, and the gradient that goes back there.

fn main() -> oriel::Result<()> {
    let problem = oriel::Pool::max([2, 2]).on(oriel::Dtype::F32, &[4, 6])?;
    println!(
        "{}: {:?} -> {:?}",
        problem.name(),
        problem.shape(),
        problem.output_shape()
    );

    let x: Vec<f32> = (0..24).map(|i| (i * 7 % 24) as f32).collect();
    let mut y = vec![0.0; problem.output_len()];
    let mut indices = vec![0i64; problem.output_len()];
    problem.forward_indices(&x, &mut y, &mut indices, oriel::Space::Plane)?;
    println!("{y:?} at {indices:?}");

    let mut dx = vec![0.0f32; problem.input_len()];
    problem.backward_indices(&vec![1.0; y.len()], &indices, oriel::Space::Plane, &mut dx)?;
    println!("{} inputs have a gradient", dx.iter().filter(|g| **g != 0.0).count());
    match "max:f32:4x6:k9".parse::<oriel::Problem>() {
        Ok(_) => println!("no error"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
