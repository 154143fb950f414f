//! Model servers on this machine that nobody has configured, found by asking where the well-known ones listen. They are
//! shown and offered, and never chosen for anybody: whoever listens there may be another program, or another user's.

use std::thread;
use std::time::Duration;

use crate::known::KNOWN;
use crate::wiring::{self, Handle, Service};

/// How long a server may take to say what it serves. One that is there answers in a few milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_millis(200);

/// Where a model server may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// The well-known name of the server that listens here.
    pub(crate) name: &'static str,
    /// Its address, which is on loopback.
    pub(crate) base_url: String,
}

/// A model server that answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LocalServer {
    /// Where it is.
    pub(crate) place: Place,
    /// The models it serves.
    pub(crate) models: Vec<String>,
}

/// Where the well-known servers listen unless they are told otherwise.
pub(crate) fn usual_places() -> Vec<Place> {
    let here = KNOWN.iter().filter(|known| known.key_env.is_none());
    let place = |known: &crate::known::Known| Place {
        name: known.name,
        base_url: known.base_url.to_owned(),
    };
    here.map(place).collect()
}

/// Asks all places side by side, without a key and without a proxy; what answers in time comes back in their order.
pub(crate) fn find(places: &[Place], patience: Duration, handle: &Handle) -> Vec<LocalServer> {
    thread::scope(|scope| {
        let ask = |place| scope.spawn(move || ask(place, patience, handle));
        let asked: Vec<_> = places.iter().map(ask).collect();
        let answers = asked
            .into_iter()
            .map(|thread| thread.join().expect("asking a place doesn't panic"));
        answers.flatten().collect()
    })
}

/// The server at a place. What answers with anything but a list of models is none.
fn ask(place: &Place, patience: Duration, handle: &Handle) -> Option<LocalServer> {
    let service = Service::new(place.name, place.base_url.clone());
    let listed = wiring::list_models(patience, &service, handle).ok()?;
    Some(LocalServer {
        place: place.clone(),
        models: listed.into_iter().map(|model| model.id).collect(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::time::Instant;

    use talaria_tests::mock::{Mock, Reply};
    use url::Url;

    use super::*;
    use crate::wiring::Http;

    /// Much more than is needed, for a machine that has much else to do.
    const LONG: Duration = Duration::from_secs(10);

    fn place(base_url: String) -> Place {
        Place { name: "vllm", base_url }
    }

    /// The models found where a server gives this answer.
    fn found(reply: Reply) -> Option<Vec<String>> {
        let mock = Mock::serve(vec![reply]).with_list();
        let servers = find(&[place(mock.base_url())], LONG, &Http::new().handle().unwrap());
        assert_eq!(mock.requests()[0].line, "GET /v1/models");
        servers.into_iter().next().map(|server| server.models)
    }

    #[test]
    fn the_usual_places_are_on_loopback() {
        let places = usual_places();
        let shown: Vec<_> = places
            .iter()
            .map(|place| {
                let url = Url::parse(&place.base_url).unwrap();
                assert_eq!(url.host_str(), Some("127.0.0.1"));
                (place.name, url.port().unwrap())
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("ollama", 11434),
                ("lmstudio", 1234),
                ("llamacpp", 8080),
                ("vllm", 8000)
            ]
        );
    }

    #[test]
    fn a_server_is_what_lists_models() {
        let json = |body: &str| Reply::answer("HTTP/1.1 200 OK\ncontent-type: application/json", body);
        assert_eq!(
            found(json(r#"{"object": "list", "data": [{"id": "a"}, {"id": "b"}]}"#)),
            Some(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(found(json(r#"{"object": "list", "data": null}"#)), Some(vec![]));
        assert_eq!(found(json("{}")), None);
        assert_eq!(found(json("<html>It works!</html>")), None);
        assert_eq!(found(Reply::answer("HTTP/1.1 401 Unauthorized", "{}")), None);
        assert_eq!(
            found(Reply::answer("HTTP/1.1 302 Found\nlocation: /login", "")),
            None,
            "it is not followed"
        );
    }

    #[test]
    fn those_that_are_silent_or_absent_hold_up_nobody() {
        let list = r#"{"data": [{"id": "m"}]}"#;
        let (silent, speaks) = (
            Mock::answering(|_| Reply::silence()).with_list(),
            Mock::serve(vec![Reply::answer("HTTP/1.1 200 OK", list)]).with_list(),
        );
        // Nobody listens at a port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let mut places = vec![place(silent.base_url()); 8];
        places.push(place(format!("http://{free}/v1")));
        places.push(place(speaks.base_url()));
        let http = Http::new();
        let patience = Duration::from_secs(1);
        let begun = Instant::now();
        let servers = find(&places, patience, &http.handle().unwrap());
        assert_eq!(servers.len(), 1);
        assert_eq!(servers[0].place.base_url, speaks.base_url());
        // Side by side: one after the other would be eight times as long.
        assert!(begun.elapsed() < 6 * patience, "{:?}", begun.elapsed());
    }
}
