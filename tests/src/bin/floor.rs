//! The least that can answer an editor: one line in, one line out. The benchmarks measure `agent acp` beside it.

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let (_, id) = line.split_once("\"id\":").unwrap_or_default();
    let id: String = id.chars().take_while(char::is_ascii_digit).collect();
    let mut stdout = io::stdout().lock();
    writeln!(
        stdout,
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":1}}}}"#
    )?;
    stdout.flush()?;
    // Lives until its input ends, as an agent does.
    while io::stdin().lock().read_line(&mut line)? > 0 {}
    Ok(())
}
