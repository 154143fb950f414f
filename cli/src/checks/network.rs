//! What stands between this machine and a service: certificates and proxies. Nothing here touches the network.

use std::path::PathBuf;

use agent_core::config::Config;
use url::Url;

use super::Finding;
use crate::credentials::Environment;

/// Variables that name a proxy; of each pair the first that is set counts.
const PROXIES: [[&str; 2]; 3] = [
    ["HTTPS_PROXY", "https_proxy"],
    ["HTTP_PROXY", "http_proxy"],
    ["ALL_PROXY", "all_proxy"],
];

/// The schemes that a proxy can have.
const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

/// Whether services can prove who they are. Without certificates none beyond this machine can, which is a failure if
/// the default model `is_far`.
pub(crate) fn certificates(config: &Config, is_far: bool, environment: &Environment) -> Finding {
    const CHECK: &str = "TLS roots";
    let found = rustls_native_certs::load_native_certs();
    let named: Vec<(&str, String)> = ["SSL_CERT_FILE", "SSL_CERT_DIR"]
        .into_iter()
        .filter_map(|name| Some((name, environment.get(name)?)))
        .collect();
    let said: Vec<String> = named.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let by = match said.as_slice() {
        [] => String::new(),
        said => format!(" by {}", said.join(" and ")),
    };
    let is_absent = |value: &str| std::env::split_paths(value).any(|path| !path.exists());
    let absent = named.iter().find(|(_, value)| is_absent(value));
    let count = format!("{} certificates{by}", found.certs.len());
    if found.certs.is_empty() {
        let message = format!(
            "no certificates were found{by}, so no service beyond this machine can be trusted: install the system's \
             certificates (ca-certificates), or name a file of them in SSL_CERT_FILE"
        );
        return match is_far {
            true => Finding::failed(CHECK, message),
            false => Finding::warning(CHECK, message),
        };
    }
    let files = config
        .providers
        .iter()
        .filter_map(|(name, entry)| Some((name, entry.ca_file.as_ref()?)));
    let files: Vec<(&String, &PathBuf)> = files.collect();
    if let Some((name, file)) = files.iter().find(|(_, file)| std::fs::read(file).is_err()) {
        let fault = format!("the ca_file of {name}, {}, can't be read", file.display());
        return Finding::warning(CHECK, format!("{count}, but {fault}: correct providers.{name}.ca_file"));
    }
    let of_own = files
        .iter()
        .map(|(name, file)| format!(", those of {} for {name}", file.display()));
    let count = count + &of_own.collect::<String>();
    match (absent, found.errors.first()) {
        (Some((name, _)), _) => Finding::warning(
            CHECK,
            format!("{count}, but what {name} names is not all there: correct it or unset it"),
        ),
        (None, Some(error)) => Finding::warning(
            CHECK,
            format!("{count}, and some can't be read ({error}): mend or remove those"),
        ),
        (None, None) => Finding::ok(CHECK, count),
    }
}

/// The proxies that the environment names. Their passwords are never shown.
pub(crate) fn proxies(environment: &Environment) -> Finding {
    const CHECK: &str = "proxies";
    let set = |names: &[&'static str]| {
        let found = names.iter().find_map(|name| Some((*name, environment.get(name)?)));
        found.map(|(name, value)| (name, value.trim().to_owned()))
    };
    let named: Vec<(&str, String)> = PROXIES.iter().filter_map(|names| set(names)).collect();
    if let Some((name, _)) = named.iter().find(|(_, value)| shown(value).is_none()) {
        return Finding::warning(
            CHECK,
            format!("{name} is no address of a proxy and is not used: write it like http://proxy.example.com:3128"),
        );
    }
    let mut said: Vec<String> = named
        .iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", shown(value)?)))
        .collect();
    if said.is_empty() {
        return Finding::ok(CHECK, "the environment names none");
    }
    said.extend(set(&["NO_PROXY", "no_proxy"]).map(|(name, value)| format!("{name} {value}")));
    Finding::ok(CHECK, format!("{}; none for servers on this machine", said.join(", ")))
}

/// A proxy's address without name and password; none if it makes no sense.
fn shown(value: &str) -> Option<String> {
    let with_scheme = match value.contains("://") {
        true => value.to_owned(),
        false => format!("http://{value}"),
    };
    let url = Url::parse(&with_scheme).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    SCHEMES.contains(&url.scheme()).then_some(())?;
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let login = match url.username().is_empty() && url.password().is_none() {
        true => "",
        false => " (with a login)",
    };
    Some(format!("{}://{host}{port}{login}", url.scheme()))
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn proxies_are_named_without_their_passwords() {
        let check = |variables: &'static [(&'static str, &'static str)], state: State, expect: &str| {
            let finding = proxies(&Environment::of(variables));
            assert_eq!(
                (finding.state, finding.message.as_str()),
                (state, expect),
                "{variables:?}"
            );
        };
        check(&[], State::Ok, "the environment names none");
        check(&[("NO_PROXY", "a")], State::Ok, "the environment names none");
        check(
            &[
                ("https_proxy", "http://me:hunter2@p.example:3128/"),
                ("NO_PROXY", "a,b"),
            ],
            State::Ok,
            "https_proxy http://p.example:3128 (with a login), NO_PROXY a,b; none for servers on this machine",
        );
        check(
            &[
                ("HTTP_PROXY", "p:80"),
                ("http_proxy", "q"),
                ("ALL_PROXY", "socks5://h:1"),
            ],
            State::Ok,
            "HTTP_PROXY http://p, ALL_PROXY socks5://h:1; none for servers on this machine",
        );
        for value in ["me:hunter2@", "ftp://hunter2", "http://"] {
            let finding = proxies(&Environment::of(match value {
                "me:hunter2@" => &[("HTTPS_PROXY", "me:hunter2@")],
                "http://" => &[("HTTPS_PROXY", "http://")],
                _ => &[("HTTPS_PROXY", "ftp://hunter2")],
            }));
            assert_eq!(finding.state, State::Warning, "{value}");
            assert!(!finding.message.contains("hunter2"), "{}", finding.message);
        }
    }

    #[test]
    fn a_named_file_that_is_not_there_is_told() {
        let environment = Environment::of(&[("SSL_CERT_FILE", "/nowhere/certs.pem")]);
        let finding = certificates(&Config::default(), false, &environment);
        assert_eq!(finding.state, State::Warning, "{}", finding.message);
        assert!(finding.message.contains("/nowhere/certs.pem"), "{}", finding.message);
    }
}
