//! A transcript as one page for a browser: nothing in it comes from elsewhere, and nothing of the session is anything but
//! text in it.

use std::fmt::Write;

use agent_core::event::ToolStatus;

use super::{Call, Part, Tone, Transcript, Turn, mark};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page may do: it has its own style and script, and asks nobody for anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";

/// Makes the page.
pub(crate) fn page(transcript: &Transcript) -> String {
    let title = escaped(&transcript.title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<dl>\n"
    );
    for (name, value) in &transcript.facts {
        add(&mut page, format_args!("<dt>{name}</dt><dd>{}</dd>\n", escaped(value)));
    }
    page.push_str(
        "</dl>\n</header>\n<div class=\"find\" role=\"search\"><input id=\"find\" type=\"search\" autocomplete=\"off\" \
         placeholder=\"Find (press /)\" aria-label=\"Find in this session\"><output id=\"told\" for=\"find\"></output>\
         </div>\n<main>\n",
    );
    transcript.turns.iter().for_each(|turn| add_turn(&mut page, turn));
    add(
        &mut page,
        format_args!("</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"),
    );
    page
}

fn add(page: &mut String, what: std::fmt::Arguments<'_>) {
    page.write_fmt(what).expect("a string takes any text");
}

fn add_turn(page: &mut String, turn: &Turn) {
    let name = turn.number.map_or_else(String::new, |number| format!("{number} · "));
    add(page, format_args!("<section>\n<h2>{name}{}</h2>\n", escaped(&turn.at)));
    turn.parts.iter().for_each(|part| add_part(page, part));
    page.push_str("</section>\n");
}

fn add_part(page: &mut String, part: &Part) {
    match part {
        Part::User(text) => add(
            page,
            format_args!(
                "<div class=\"part user\"><p class=\"text\">{}</p></div>\n",
                escaped(text)
            ),
        ),
        Part::Agent(text) => {
            page.push_str("<div class=\"part agent\">");
            add_markdown(page, text);
            page.push_str("</div>\n");
        }
        Part::Thought(text) => add(
            page,
            format_args!(
                "<div class=\"part thought\"><p class=\"text\">{}</p></div>\n",
                escaped(text)
            ),
        ),
        Part::Call(call) => add_call(page, call),
        Part::Plan(entries) => {
            page.push_str("<ul class=\"part plan\">");
            for (status, text) in entries {
                add(page, format_args!("<li>{} {}</li>", mark(*status), escaped(text)));
            }
            page.push_str("</ul>\n");
        }
        Part::Note(tone, text) => {
            let class = match tone {
                Tone::Quiet => "note",
                Tone::Warning => "note warning",
                Tone::Error => "note error",
            };
            add(page, format_args!("<p class=\"part {class}\">{}</p>\n", escaped(text)));
        }
    }
}

/// Markdown as it was written, with its code set apart.
fn add_markdown(page: &mut String, text: &str) {
    let mut fence: Option<&str> = None;
    let mut so_far = String::new();
    for line in text.lines() {
        let begin = line.trim_start();
        let mark = &begin[..begin.bytes().take_while(|byte| *byte == b'`').count()];
        match fence {
            None if mark.len() >= 3 => {
                add_block(page, &so_far, false);
                so_far.clear();
                fence = Some(mark);
            }
            Some(open) if mark.len() >= open.len() && begin.trim_end() == mark => {
                add_block(page, &so_far, true);
                so_far.clear();
                fence = None;
            }
            None | Some(_) => {
                so_far.push_str(line);
                so_far.push('\n');
            }
        }
    }
    add_block(page, &so_far, fence.is_some());
}

fn add_block(page: &mut String, text: &str, is_code: bool) {
    let text = text.trim_matches('\n');
    match (text, is_code) {
        ("", _) => {}
        (text, true) => add(page, format_args!("<pre><code>{}</code></pre>", escaped(text))),
        (text, false) => add(page, format_args!("<p class=\"text\">{}</p>", escaped(text))),
    }
}

fn add_call(page: &mut String, call: &Call) {
    let class = match call.status {
        Some(ToolStatus::Completed) => "done",
        Some(ToolStatus::Failed) => "failed",
        Some(ToolStatus::Denied | ToolStatus::Cancelled) | None => "other",
    };
    let open = if call.diffs.is_empty() { "" } else { " open" };
    add(
        page,
        format_args!(
            "<details class=\"part call\"{open}><summary>{} <span class=\"state {class}\">{}</span>",
            escaped(&call.title),
            call.state()
        ),
    );
    if let Some(took) = &call.took {
        add(page, format_args!(" <span class=\"took\">{took}</span>"));
    }
    page.push_str("</summary>");
    for approval in &call.approvals {
        add(page, format_args!("<div class=\"asked\">{}</div>", escaped(approval)));
    }
    call.diffs.iter().for_each(|diff| add_diff(page, diff));
    if !call.output.is_empty() {
        add(page, format_args!("<pre>{}</pre>", escaped(&call.output)));
    }
    if let Some(cut) = &call.cut {
        add(page, format_args!("<div class=\"cut\">{}</div>", escaped(cut)));
    }
    page.push_str("</details>\n");
}

fn add_diff(page: &mut String, diff: &str) {
    page.push_str("<pre class=\"diff\">");
    for (index, line) in diff.lines().enumerate() {
        let class = match line.as_bytes().first() {
            _ if index < 2 => "file",
            Some(b'+') => "add",
            Some(b'-') => "del",
            Some(b'@') => "hunk",
            Some(_) | None => "same",
        };
        add(page, format_args!("<span class=\"{class}\">{}</span>", escaped(line)));
    }
    page.push_str("</pre>");
}

/// Text that is nothing but text, between tags and in an attribute.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\0' => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}
