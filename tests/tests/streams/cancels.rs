//! A cancel ends everything, at any time.

use std::ops::ControlFlow;
use std::thread;

use agent_core::cancel::Cancel;
use agent_core::provider::{Provider, ProviderError};
use talaria_tests::mock::{Mock, Reply as Answer};

use crate::ask::{LIMIT, file, prompt, provider};

#[test]
fn a_cancel_ends_a_blocked_read_and_closes_the_connection() {
    let texts = Answer::sse(file("chat-05-cut-in-text.sse")).stalling();
    for (answer, cancel_at_text) in [(texts, true), (Answer::silence(), false)] {
        let mock = Mock::serve(vec![answer]);
        let provider = provider(&mock);
        let (told, heard) = std::sync::mpsc::channel();
        let cancel = Cancel::new();
        let asking = {
            let cancel = cancel.clone();
            thread::spawn(move || {
                provider.complete(&prompt(), &cancel, &mut |_| {
                    told.send(()).unwrap();
                    ControlFlow::Continue(())
                })
            })
        };
        if cancel_at_text {
            heard.recv_timeout(LIMIT).unwrap();
        } else {
            assert!(mock.wait_requests(1, LIMIT));
        }
        cancel.set();
        assert_eq!(asking.join().unwrap(), Err(ProviderError::Cancelled));
        assert!(mock.wait_closed(LIMIT));
    }
}

#[test]
fn a_cancel_that_came_first_and_a_sink_that_breaks_end_the_call() {
    let mock = Mock::serve(vec![Answer::sse(file("chat-05-cut-in-text.sse")).stalling()]);
    let provider = provider(&mock);
    let broken = provider.complete(&prompt(), &Cancel::new(), &mut |_| ControlFlow::Break(()));
    assert_eq!(broken, Err(ProviderError::Cancelled));
    assert!(mock.wait_closed(LIMIT));
    let cancel = Cancel::new();
    cancel.set();
    let cancelled = provider.complete(&prompt(), &cancel, &mut |_| ControlFlow::Continue(()));
    assert_eq!(cancelled, Err(ProviderError::Cancelled));
    assert_eq!(mock.requests().len(), 1);
}
