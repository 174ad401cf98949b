//! Reads sizes m n k batch from stdin and prints the number of the kernel for each, and why.

#[path = "src/selection.rs"]
mod selection;

use std::io::Read;

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let mut said = String::new();
    for line in text.lines() {
        let sizes: Vec<i64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [m, n, k, batch] = sizes[..] else { panic!("four sizes") };
        let problem = selection::Problem { m, n, k, batch };
        assert!(!selection::reason(&problem).is_empty());
        said += &format!("{}\n", selection::select(&problem));
    }
    print!("{said}");
}
