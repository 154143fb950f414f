#![allow(clippy::unwrap_used, reason = "tests")]

use agent_core::approval::Mode;

use super::*;

#[test]
fn a_missing_file_is_the_default() {
    for path in ["/nowhere/config.toml", "/dev/null/config.toml"] {
        assert_eq!(read(Path::new(path)).unwrap(), Config::default(), "{path}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told() {
    let error = anyhow::Error::new(read(Path::new("/")).unwrap_err());
    assert!(
        format!("{error:#}").starts_with("can't read the configuration /: "),
        "{error:#}"
    );
}

#[test]
fn an_error_names_the_file_the_line_and_the_way_out() {
    let check = |text: &str, expect: &str| {
        let error = parse(text, Path::new("/c.toml")).unwrap_err().to_string();
        assert!(
            error.contains(expect),
            "{text:?}\n     was: {error}\nexpected: {expect}"
        );
    };
    check(
        "modle = \"a/b\"",
        "/c.toml:1: unknown key `modle`: did you mean `model`?",
    );
    check(
        "\n[agent]\nmode = \"plan\"\nmax_stepz = 3\n",
        "/c.toml:4: unknown key `max_stepz` in [agent]: did you mean `max_steps`?",
    );
    check(
        "[providers.local]\nurl = \"x\"\n",
        "/c.toml:2: unknown key `url` in [providers.local]; known are api, base_url",
    );
    check("colour = 1", "unknown key `colour`; known are model, fallback_models");
    check("model = \"gpt-5\"", "/c.toml:1: `model`: `gpt-5` is not a model's name");
    check("a = = 1", "/c.toml:1: ");
    check(
        "[agent]\nmode = \"yolo\"",
        "/c.toml:2: `agent.mode`: `yolo` is not a mode: choose plan, default, accept_edits or dont_ask",
    );
    check(
        "[agent]\nthought_level = \"max\"",
        "/c.toml:2: `agent.thought_level`: `max` is not a thought level: choose off, low, medium or high",
    );
    check(
        "model = 5",
        "`model`: is the number `5`, and should be a text in quotes",
    );
    check(
        "[agent]\nmax_steps = -1",
        "is the number `-1`, and should be a whole number from 0 up",
    );
    check(
        "[agent]\nmax_steps = \"a\"",
        "is a text, and should be a whole number from 0 up",
    );
    check(
        "[undo]\nmax_md = 1",
        "/c.toml:2: unknown key `max_md` in [undo]: did you mean `max_mb`?",
    );
    check(
        "[undo]\nmax_mb = -1",
        "is the number `-1`, and should be a whole number from 0 up",
    );
    check("[budget]\nmax_cost_usd = true", "is `true`, and should be a number");
    check(
        "[providers.openai]\nmodels = [\"a\"]",
        "`providers.openai.models[0]`: is a text, and should be a table, such as { id = \"qwen3\" }",
    );
    check("[providers.openai]\nmodels = [{}]", "`id` is missing");
    check(
        "[providers.openai]\nmodels = [{ id = \"a\", price = { input = 1.0 } }]",
        "`providers.openai.models[0].price`: `output` is missing",
    );
    check("[agent]\nmax_steps = 0", "/c.toml: agent.max_steps is 0");
    check(
        "[agent]\ndisabled_tools = [\"todo\", \"terminl\"]",
        "agent.disabled_tools: there is no tool `terminl`: did you mean `terminal`?",
    );
    check(
        "[agent]\ndisabled_tools = [\"shell\"]",
        "there is no tool `shell`; there are read_file, ",
    );
    check(
        "[approvals]\ndeny = [\"rm *\", \"/usr/bin/sudo\"]",
        "approvals.deny: the rule `/usr/bin/sudo` does not begin with a program's name alone",
    );
    check(
        "[providers.openai]\nca_file = \"ca.pem\"",
        "providers.openai.ca_file must be an absolute path",
    );
    check("[providers.openai]\nstall_s = 0", "providers.openai.stall_s is 0");
    check("[terminal]\ntimeout_s = 0", "terminal.timeout_s is 0");
    check(
        "[sandbox]\nmode = \"on\"",
        "/c.toml:2: `sandbox.mode`: `on` is none of auto, required, off",
    );
    check(
        "[sandbox]\nwritable = [\"../other\"]",
        "/c.toml: sandbox.writable: ../other is relative; give a whole path, or one that begins with `~/`",
    );
    check(
        "[sandbox]\nwall = 1",
        "/c.toml:2: unknown key `wall` in [sandbox]; known are mode, network, writable, outside",
    );
    check(
        "[sandbox]\nnetwork = 0",
        "`sandbox.network`: is the number `0`, and should be true or false",
    );
    check(
        "[providers.mine]\napi = \"openai-chat\"",
        "providers.mine needs base_url",
    );
    check(
        "[providers.mine]\nbase_url = \"http://x/v1\"",
        "providers.mine needs api",
    );
    check("[providers.openai]\nbase_url = \"api.x\"", "providers.openai.base_url");
    check("[providers.s]\napi = \"script\"\nbase_url = \"a.json\"", "absolute");
    check(
        "[providers.openai.headers]\n\"X Team\" = \"a\"",
        "providers.openai.headers",
    );
    check(
        "[providers.x]\napi = \"smoke\"",
        "`providers.x.api`: `smoke` is none of openai-chat, openai-responses, anthropic, gemini, offline, script",
    );
}

#[test]
fn a_text_in_a_wrong_place_is_not_shown() {
    let error = parse("[providers.openai]\nheaders = \"Bearer sk-1\"", Path::new("/c.toml"));
    let error = error.unwrap_err().to_string();
    assert!(
        !error.contains("sk-1") && error.contains("is a text, and should be a table"),
        "{error}"
    );
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let check = |text: &str, expect: &str| {
        let error = parse(text, Path::new("/c.toml")).unwrap_err().to_string();
        assert!(error.contains(expect), "{text:?}: {error}");
    };
    for cost in ["-1", "nan", "inf", "-0.5"] {
        check(&format!("[budget]\nmax_cost_usd = {cost}"), "budget.max_cost_usd is ");
    }
    let model = |entry: &str| format!("[providers.openai]\nmodels = [{{ id = \"a\", {entry} }}]");
    for price in [
        "input = -1.0, output = 1.0",
        "input = 1.0, output = nan",
        "input = 1, output = 1, cached_read = inf",
    ] {
        check(
            &model(&format!("price = {{ {price} }}")),
            "providers.openai.models: a price of `a` is ",
        );
    }
    check(&model("context_window = 0"), "the context_window of `a` is 0");
    check(&model("context_window = 10"), "the context_window of `a` is 10");
    check(&model("max_output = 0"), "the max_output of `a` is 0");
    check(
        &model("context_window = 4000, max_output = 4001"),
        "`a` could say more than its context_window of 4000 holds",
    );
    check(
        "[providers.openai]\nmodels = [{ id = \"a\" }, { id = \"b\" }, { id = \"a\" }]",
        "two entries for `a`",
    );
    check(
        "[providers.openai]\nmodels = [{ id = \"\" }]",
        "an entry without a name",
    );
    let fine = model("context_window = 4000, max_output = 4000, price = { input = 0, output = 2.5 }");
    parse(&fine, Path::new("/c.toml")).unwrap();
}

#[test]
fn a_key_in_the_configuration_is_not_shown_and_told_where_it_belongs() {
    for text in [
        "[providers.openai]\napi_key_env = \"sk-1234567890123456\"",
        "[providers.openai]\napi_key_env = \"1234 5678\"",
        "[providers.openai]\napi_key = \"sk-1234567890123456\"",
        "[providers.openai]\nkey = \"sk-1234567890123456\"",
        "api_key = \"sk-1234567890123456\"",
    ] {
        let error = parse(text, Path::new("/c.toml")).unwrap_err().to_string();
        assert!(!error.contains("1234") && error.contains(".env"), "{text:?}: {error}");
    }
}

#[test]
fn what_the_product_shows_is_understood() {
    let text = r#"
        model = "local/qwen3"
        [providers.local]
        api = "openai-chat"
        base_url = "http://127.0.0.1:8080/v1"
        api_key_env = "LOCAL_API_KEY"
        headers = { "X-Team" = "a" }
        models = [{ id = "qwen3", context_window = 32768, max_output = 8192, images = false, tools = true }]
        [agent]
        mode = "accept_edits"
        max_steps = 90
        tool_timeout_s = 300
        disabled_tools = []
        [approvals]
        timeout_s = 0
        deny = ["sudo *"]
        [terminal]
        timeout_s = 180
        [undo]
        max_mb = 10
        [sandbox]
        network = false
    "#;
    let by_its_other_name = parse("[agent]\nmode = \"Don't ask\"", Path::new("/c.toml")).unwrap();
    assert_eq!(by_its_other_name.agent.mode, Mode::DontAsk);
    let config = parse(text, Path::new("/c.toml")).unwrap();
    assert_eq!(config.model.to_string(), "local/qwen3");
    assert_eq!(config.providers["local"].models[0].context_window, Some(32768));
    assert_eq!(config.approvals.deny, ["sudo *"]);
    assert_eq!(config.undo.limit(), 10 * 1024 * 1024);
    assert_eq!(Config::default().undo.max_mb, 256);
}
