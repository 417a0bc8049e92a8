//! Finds liboriel_c: by ORIEL_C_LIB_DIR, else by pkg-config.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=ORIEL_C_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    match std::env::var("ORIEL_C_LIB_DIR") {
        Ok(folder) => {
            println!("cargo:rustc-link-search=native={folder}");
            println!("cargo:rustc-link-lib=dylib=oriel_c");
        }
        Err(_) => by_pkg_config(),
    }
}

fn by_pkg_config() {
    let program = std::env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let output = Command::new(&program).args(["--libs", "oriel_c >= 0.2"]).output();
    let output = output.unwrap_or_else(|error| {
        panic!("oriel: {program} cannot be run ({error}); ORIEL_C_LIB_DIR may name the folder of liboriel_c.so")
    });
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        panic!(
            "oriel: {program} does not know oriel_c; PKG_CONFIG_PATH or ORIEL_C_LIB_DIR may say where it is: {words}"
        );
    }
    for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    }
}
