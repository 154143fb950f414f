//! The tools of servers that have said that theirs have changed: asked for side by side, before a turn.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use agent_core::cancel::Cancel;
use agent_core::event::Event;
use crossbeam_channel::{after, bounded, never, select};

use super::connection::Connection;
use super::server::Server;
use super::{MOMENT, patience};

/// How long changed lists are waited for, all in all.
const RELIST: Duration = Duration::from_secs(5);

/// Takes over what the servers list now, as far as they say it in time; a wait that is longer than a moment is told.
pub(super) fn take_over(changed: &[(&Arc<Server>, Arc<Connection>)], cancel: &Cancel, tell: &mut dyn FnMut(Event)) {
    let deadline = Instant::now() + RELIST;
    // Each thread says once when it is done, by its server's name.
    let (done, ended) = bounded(changed.len());
    thread::scope(|scope| {
        for (server, connection) in changed {
            let done = done.clone();
            let ask = move || {
                server.take_over_change(connection, cancel, deadline);
                // Whoever waits for it does so until all have ended.
                let _ = done.send(server.name());
            };
            if thread::Builder::new()
                .name("mcp list".into())
                .spawn_scoped(scope, ask)
                .is_err()
            {
                connection.note_list_changed();
            }
        }
        drop(done);
        let mut asked: Vec<&str> = changed.iter().map(|(server, _)| server.name()).collect();
        let mut moment = after(MOMENT);
        loop {
            select! {
                recv(ended) -> name => match name {
                    Ok(name) => asked.retain(|asked| *asked != name),
                    Err(_) => break,
                },
                recv(moment) -> _ => {
                    moment = never();
                    tell(patience("asking MCP servers for their changed tools", RELIST, asked.iter().copied()));
                }
            }
        }
    });
}
