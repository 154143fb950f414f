//! Readers that do the least: a socket, and nothing between it and the text.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use providers::Dialect;
use serde_json::Value;

use crate::spoken;

/// Asks and reads the answer to its end as bytes; how many there were.
pub(crate) fn bytes(address: SocketAddr, path: &str, body: &str) -> usize {
    let mut stream = ask(address, path, body);
    let mut buffer = vec![0; 16 * 1024];
    let mut count = 0;
    loop {
        match stream.read(&mut buffer).expect("the service goes on to its end") {
            0 => return count,
            read => count += read,
        }
    }
}

/// Asks and reads the text: each event's line is parsed, and its piece added to the others.
pub(crate) fn text(address: SocketAddr, path: &str, dialect: Dialect) -> String {
    let mut reader = BufReader::with_capacity(16 * 1024, ask(address, path, "{}"));
    let (mut line, mut text) = (String::new(), String::new());
    let place = spoken::place(dialect);
    while reader.read_line(&mut line).expect("the service writes UTF-8") > 0 {
        if let Some(data) = line.strip_prefix("data: ")
            && let Ok(event) = serde_json::from_str::<Value>(data)
            && let Some(piece) = event.pointer(place).and_then(Value::as_str)
        {
            text.push_str(piece);
        }
        line.clear();
    }
    text
}

fn ask(address: SocketAddr, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the service listens");
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("the service reads");
    stream.write_all(body.as_bytes()).expect("the service reads");
    stream
}
