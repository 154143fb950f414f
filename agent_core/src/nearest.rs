//! The nearest of some names to a mistyped one.

/// The candidate most like `name`, if one is like it at all: at most a third of its letters differ.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_what_is_alike_is_near() {
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(nearest(name, ["model", "providers", "agent"]), expect, "{name}");
        };
        check("modle", Some("model"));
        check("provider", Some("providers"));
        check("agnet", Some("agent"));
        check("colour", None);
        check("", None);
    }
}
