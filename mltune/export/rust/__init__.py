"""The export to Rust."""
