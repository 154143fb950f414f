//! From the protocol's words to the core's: prompts and folders.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error, McpServer, McpServerStdio};
use agent_core::content::{Blob, Content};
use agent_core::runtime::Folders;
use agent_core::server::{Server, Transport};

use super::fault;
use super::params::LONGEST_NAME;

/// A prompt, piece by piece and in its order.
pub(crate) fn prompt(blocks: Vec<ContentBlock>) -> Result<Vec<Content>, Error> {
    let pieces = blocks.into_iter().enumerate();
    pieces.map(|(index, block)| piece(index, block)).collect()
}

fn piece(index: usize, block: ContentBlock) -> Result<Content, Error> {
    match block {
        ContentBlock::Text(text) => Ok(Content::Text { text: text.text }),
        ContentBlock::Image(image) => Ok(Content::Image {
            data: bytes(&image.data, &format!("prompt[{index}].data"))?,
            mime_type: image.mime_type,
            uri: image.uri,
        }),
        ContentBlock::ResourceLink(link) => Ok(Content::Link {
            uri: link.uri,
            name: link.name,
        }),
        ContentBlock::Resource(resource) => self::resource(index, resource.resource),
        ContentBlock::Audio(_) => Err(unserved(index, "audio is not taken: send its text")),
        _ => Err(unserved(index, "this kind of content is not taken")),
    }
}

fn resource(index: usize, resource: EmbeddedResourceResource) -> Result<Content, Error> {
    match resource {
        EmbeddedResourceResource::TextResourceContents(text) => Ok(Content::Resource {
            uri: text.uri,
            mime_type: text.mime_type,
            text: text.text,
        }),
        EmbeddedResourceResource::BlobResourceContents(blob) => {
            let data = bytes(&blob.blob, &format!("prompt[{index}].resource.blob"))?;
            Ok(attached(blob.uri, blob.mime_type, data))
        }
        _ => Err(unserved(index, "this kind of resource is not taken")),
    }
}

/// An attached file: a picture, a text, or a note that it is neither.
fn attached(uri: String, mime_type: Option<String>, data: Blob) -> Content {
    let text = std::str::from_utf8(data.bytes())
        .ok()
        .filter(|text| !text.contains('\0'));
    match (mime_type, text) {
        (Some(mime_type), _) if mime_type.starts_with("image/") => Content::Image {
            mime_type,
            data,
            uri: Some(uri),
        },
        (mime_type, Some(text)) if mime_type.as_deref().is_none_or(is_text) => Content::Resource {
            text: text.to_owned(),
            uri,
            mime_type,
        },
        (mime_type, _) => Content::text(format!(
            "[{uri} was attached: {} bytes of {}, which can't be read as text]",
            data.bytes().len(),
            mime_type.as_deref().unwrap_or("unknown type"),
        )),
    }
}

/// Whether files of this type are read by people.
fn is_text(mime_type: &str) -> bool {
    let kind = mime_type.split(';').next().unwrap_or_default().trim();
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || [
            "application/json",
            "application/xml",
            "application/toml",
            "application/yaml",
        ]
        .contains(&kind)
}

fn bytes(base64: &str, field: &str) -> Result<Blob, Error> {
    Blob::from_base64(base64).map_err(|_| fault::invalid_field(field, "expected base64"))
}

fn unserved(index: usize, problem: &str) -> Error {
    fault::invalid_field(&format!("prompt[{index}]"), problem)
}

/// The folders of a session; the protocol wants absolute ones. Whether they exist is the core's question.
pub(crate) fn folders(cwd: PathBuf, extra_roots: Vec<PathBuf>, servers: Vec<McpServer>) -> Result<Folders, Error> {
    folder("cwd", &cwd)?;
    for (index, root) in extra_roots.iter().enumerate() {
        folder(&format!("additionalDirectories[{index}]"), root)?;
    }
    Ok(Folders {
        cwd,
        extra_roots,
        servers: servers.into_iter().map(server).collect(),
    })
}

/// What can be said of a folder without looking at it.
fn folder(field: &str, path: &Path) -> Result<(), Error> {
    if !path.is_absolute() {
        return Err(fault::invalid_field(field, "expected an absolute path"));
    }
    if path.as_os_str().len() > LONGEST_NAME {
        return Err(fault::invalid_field(field, "is too long"));
    }
    Ok(())
}

/// A server that the client brought along. One that can't be used is told of by name later, like any other.
fn server(server: McpServer) -> Server {
    let unserved = |name: String, why: &str| (name, Transport::Unserved { why: why.into() });
    let (name, transport) = match server {
        McpServer::Stdio(server) => stdio(server),
        McpServer::Http(server) => {
            let headers = server.headers.into_iter();
            let headers = headers.map(|header| (header.name, header.value)).collect();
            let url = server.url;
            (server.name, Transport::Http { url, headers })
        }
        McpServer::Sse(server) => unserved(
            server.name,
            "SSE is not served: use its streamable HTTP address, or stdio",
        ),
        _ => unserved("unknown".into(), "it is spoken with in a way that is not served"),
    };
    Server {
        name,
        transport,
        timeout_s: None,
        tools: None,
    }
}

fn stdio(server: McpServerStdio) -> (String, Transport) {
    let env = server.env.into_iter().map(|variable| (variable.name, variable.value));
    let transport = Transport::Stdio {
        command: server.command,
        args: server.args,
        env: env.collect(),
        cwd: None,
    };
    (server.name, transport)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::{Value, json};

    fn read(blocks: Value) -> Result<Vec<Content>, Error> {
        prompt(serde_json::from_value(blocks).unwrap())
    }

    #[test]
    fn each_kind_of_content_has_its_counterpart() {
        let check = |block: Value, expect: Content| assert_eq!(read(json!([block])).unwrap(), [expect]);
        check(json!({ "type": "text", "text": "hi" }), Content::text("hi"));
        let image = |uri: Option<&str>| Content::Image {
            mime_type: "image/png".into(),
            data: Blob::Inline(b"abc".as_slice().into()),
            uri: uri.map(str::to_owned),
        };
        check(
            json!({ "type": "image", "mimeType": "image/png", "data": "YWJj" }),
            image(None),
        );
        check(
            json!({ "type": "resource_link", "uri": "file:///a#L1-2", "name": "a" }),
            Content::Link {
                uri: "file:///a#L1-2".into(),
                name: "a".into(),
            },
        );
        check(
            json!({ "type": "resource", "resource": { "uri": "file:///a", "text": "t" } }),
            Content::Resource {
                uri: "file:///a".into(),
                mime_type: None,
                text: "t".into(),
            },
        );
        check(
            json!({ "type": "resource", "resource": { "uri": "u", "blob": "YWJj", "mimeType": "image/png" } }),
            image(Some("u")),
        );
        check(
            json!({ "type": "resource", "resource": { "uri": "u", "blob": "YWJj", "mimeType": "application/pdf" } }),
            Content::text("[u was attached: 3 bytes of application/pdf, which can't be read as text]"),
        );
        let text = |mime_type: Option<&str>| Content::Resource {
            uri: "u".into(),
            mime_type: mime_type.map(str::to_owned),
            text: "abc".into(),
        };
        for mime_type in [None, Some("text/plain; charset=utf-8"), Some("application/ld+json")] {
            check(
                json!({ "type": "resource", "resource": { "uri": "u", "blob": "YWJj", "mimeType": mime_type } }),
                text(mime_type),
            );
        }
        check(
            json!({ "type": "resource", "resource": { "uri": "u", "blob": "YQBi", "mimeType": "text/plain" } }),
            Content::text("[u was attached: 3 bytes of text/plain, which can't be read as text]"),
        );
    }

    #[test]
    fn an_empty_prompt_is_one() {
        assert_eq!(read(json!([])).unwrap(), []);
    }

    #[test]
    fn what_can_not_be_taken_is_named_by_its_place() {
        let check = |block: Value, field: &str| {
            let error = read(json!([{ "type": "text", "text": "" }, block])).unwrap_err();
            assert_eq!(
                (i32::from(error.code), error.data),
                (-32602, Some(json!({ "field": field })))
            );
        };
        check(
            json!({ "type": "image", "mimeType": "image/png", "data": "?" }),
            "prompt[1].data",
        );
        check(
            json!({ "type": "resource", "resource": { "uri": "u", "blob": "?" } }),
            "prompt[1].resource.blob",
        );
        check(
            json!({ "type": "audio", "mimeType": "audio/wav", "data": "YWJj" }),
            "prompt[1]",
        );
    }

    #[test]
    fn relative_folders_are_refused_by_name() {
        let field = |cwd: &str, roots: &[&str]| {
            let roots = roots.iter().map(PathBuf::from).collect();
            folders(cwd.into(), roots, Vec::new()).map_err(|error| error.data.unwrap()["field"].clone())
        };
        assert_eq!(field("rel", &[]), Err(json!("cwd")));
        assert_eq!(field("", &[]), Err(json!("cwd")));
        assert_eq!(field("/a", &["/b", "c"]), Err(json!("additionalDirectories[1]")));
        assert!(field("/a", &["/b"]).is_ok());
    }

    #[test]
    fn servers_are_taken_over_and_one_that_is_not_served_says_why() {
        let servers: Vec<McpServer> = serde_json::from_value(json!([
            { "name": "a", "command": "/m", "args": ["x"], "env": [{ "name": "N", "value": "v" }] },
            { "type": "http", "name": "b", "url": "https://h", "headers": [{ "name": "K", "value": "v" }] },
            { "type": "sse", "name": "c", "url": "https://h", "headers": [] },
        ]))
        .unwrap();
        let servers = folders("/a".into(), Vec::new(), servers).unwrap().servers;
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(
            servers[0].transport,
            Transport::Stdio {
                command: "/m".into(),
                args: vec!["x".into()],
                env: [("N".to_owned(), "v".to_owned())].into(),
                cwd: None,
            }
        );
        assert_eq!(
            servers[1].transport,
            Transport::Http {
                url: "https://h".into(),
                headers: vec![("K".into(), "v".into())],
            }
        );
        assert!(matches!(&servers[2].transport, Transport::Unserved { why } if why.contains("SSE")));
    }
}
