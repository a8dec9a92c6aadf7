//! The page in a headless browser.

use crate::Figures;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The results on the page.
#[derive(Debug)]
pub struct Shown {
    /// The figures by their ids. The points of the first curve are `at X`, the means of the rank errors `KIND QUANTILE` and their maxima `KIND QUANTILE max`,
    /// and the cells of the comparison `ITEMS COLUMN`; quantiles and columns are counted from 0.
    pub figures: Figures,
    pub command: String,
    /// The text below the command.
    pub note: String,
    /// The message in place of a result, and the errors beside fields, as `FIELD: ERROR`.
    pub errors: String,
}

impl Shown {
    pub fn figure(&self, name: &str) -> f64 {
        *(self.figures.get(name)).unwrap_or_else(|| panic!("no figure {name} in {self:?}"))
    }
}

/// Reads the results of all frames once they are loaded. In the JSON, no character has another form in HTML.
const READ: &str = r##"<pre></pre><script>
const read = ({contentDocument: page}) => {
  const all = (selector, of = page) => [...of.querySelectorAll(selector)], text = id => page.getElementById(id).textContent;
  const figures = all("#figures dd").map(figure => [figure.id, figure.dataset.value]);
  for (const {dataset} of all("#figure td[data-x]:nth-child(2)")) figures.push([`at ${dataset.x}`, dataset.y]);
  for (const row of all("#figure tr[data-kind]")) all("td[data-mean]", row).forEach(({dataset}, i) =>
    figures.push([`${row.dataset.kind} ${i}`, dataset.mean], [`${row.dataset.kind} ${i} max`, dataset.most]));
  for (const row of all("#comparison-table tr[data-items]")) all("[data-bytes]", row).forEach(({dataset}, i) =>
    figures.push([`${row.dataset.items} ${i}`, dataset.bytes || "NaN"]));
  for (const table of all("#figure [data-title]"))
    figures.push(["compression of the table", table.dataset.title.match(/^Measured rank errors in % with compression ([\d,]+):/)[1].replace(",", "")]);
  const errors = [...all("#message:not([hidden])"), ...all("small.error:not([hidden])")].map(({id, textContent}) =>
    id === "message" ? textContent : `${id.replace("-error", "")}: ${textContent}`);
  return {figures, command: text("command"), note: text("note"), errors: errors.join(" ")};
};
addEventListener("load", () => document.querySelector("pre").textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(read))
  .replace(/[&<>\u00a0]/g, letter => "\\u" + letter.charCodeAt().toString(16).padStart(4, "0")));
</script>"##;

/// Opens the page with each of these texts of input values.
pub fn open_pages(values: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Shown> {
    let page = Path::new("docs/sizing.html")
        .canonicalize()
        .expect("the page");
    let directory = tempfile::tempdir().expect("a directory");
    let frames = values.into_iter().map(|values| {
        let values = values.as_ref().replace('&', "&amp;");
        format!(
            "<iframe src=\"file://{}#{values}\"></iframe>",
            page.display()
        )
    });
    let frames: String = frames.collect();
    let document = directory.path().join("frames.html");
    fs::write(
        &document,
        format!("<!doctype html><meta charset=utf-8>{frames}{READ}"),
    )
    .expect("a written file");
    let output = Command::new("chromium")
        .args("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run".split(' '))
        .args(
            "--disable-background-networking --disable-component-update --disable-sync".split(' '),
        )
        .arg("--allow-file-access-from-files")
        .arg(format!(
            "--user-data-dir={}",
            directory.path().join("profile").display()
        ))
        .args(["--dump-dom", &format!("file://{}", document.display())])
        .output()
        .unwrap_or_else(|error| {
            panic!("cannot run chromium ({error}); `scripts/check-release.sh sizing` installs it")
        });
    let dom = String::from_utf8_lossy(&output.stdout);
    let results = dom
        .split_once("<pre>[")
        .and_then(|(_, rest)| rest.split_once("]</pre>"));
    let (results, _) =
        results.unwrap_or_else(|| panic!("{dom}{}", String::from_utf8_lossy(&output.stderr)));
    let results: Vec<Value> = serde_json::from_str(&format!("[{results}]")).expect("JSON");
    results.iter().map(shown).collect()
}

fn shown(result: &Value) -> Shown {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let figures = result["figures"].as_array().expect("figures").iter();
    let figures = figures.map(|pair| (text(&pair[0]), text(&pair[1]).parse().expect("a number")));
    Shown {
        figures: figures.collect(),
        command: text(&result["command"]),
        note: text(&result["note"]),
        errors: text(&result["errors"]),
    }
}
