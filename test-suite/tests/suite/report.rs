//! `phalanx report`: the page, as a browser shows it; and graphs as SVG.
//!
//! The page is opened in a headless Chromium with a script of the test added to it. The script
//! clicks and types as a reader would, and records what the page shows.

use std::{fs, path::PathBuf, sync::OnceLock};

use expect_test::{Expect, expect};
use phalanx_testing::llvm_tools::{self, Program, TIME_LIMIT};

/// A barrier that half of the threads skip, a race behind it, and a loop that threads leave apart.
const KERNEL: &str = "\
kernel void sum(global const int *in, global int *out, int n) {
  local int part[64];
  int i = get_global_id(0), t = get_local_id(0);
  part[t] = i < n ? in[i] : 0;
  if (t < 32) {
    barrier(CLK_LOCAL_MEM_FENCE);
    part[t] += part[t + 32];
  }
  for (int k = t; k < n; k += 64)
    out[k] = part[t];
}

kernel void copy(global const int *in, global int *out) {
  out[get_global_id(0)] = in[get_global_id(0)];
}
";

/// Notes errors of the page's own script.
const NOTE_ERRORS: &str = "<script>addEventListener('error', (e) => {
  document.documentElement.dataset.error = e.message;
});</script>";

/// Helpers for the tests' scripts: `line` finds a line of the code by a part of its text, `say`
/// records a text, `key` presses a key.
const TOOLS: &str = "
const said = [];
const say = (what, text) => said.push(`${what}: ${String(text).replace(/\\s+/g, ' ').trim()}`);
const all = (query) => [...document.querySelectorAll(query)];
const text = (query) => document.querySelector(query).textContent;
const line = (part) => all('#code .row').find((row) => row.textContent.includes(part));
const key = (name) => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true}));
";

/// Options with which a browser runs anywhere, also as root and with little shared memory.
const HEADLESS: [&str; 4] =
    ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];

/// A browser that starts; if there is none, says so.
fn chromium() -> Option<Program> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let paths = std::env::var_os("PATH")?;
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let all = names.iter().flat_map(|name| {
            std::env::split_paths(&paths).map(|folder| folder.join(name)).collect::<Vec<_>>()
        });
        let starts = |path: &PathBuf| {
            let empty = HEADLESS.into_iter().chain(["--dump-dom", "about:blank"]);
            let outcome = Program::new(path).run_in(None, empty, &[], TIME_LIMIT);
            outcome.is_ok_and(|outcome| outcome.success())
        };
        all.filter(|path| path.is_file()).find(starts)
    });
    if found.is_none() {
        llvm_tools::skipped("no chromium that starts");
    }
    found.as_ref().map(Program::new)
}

/// Opens the page of [`KERNEL`] and lets a script act on it. Checks what it says.
#[track_caller]
fn check(address: &str, script: &str, expected: &Expect) {
    if llvm_tools::require("clang").is_some() {
        let arguments = ["report", "k.cl", "--group", "64", "--no-cache"];
        check_page(&[("k.cl", KERNEL)], &arguments, address, script, expected);
    }
}

/// The same of other files.
#[track_caller]
fn check_page(
    files: &[(&str, &str)],
    arguments: &[&str],
    address: &str,
    script: &str,
    expected: &Expect,
) {
    let Some(browser) = chromium() else { return };
    let folder = tempfile::tempdir().expect("folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("file");
    }
    let outcome = crate::phalanx().run_in(Some(folder.path()), arguments, &[], TIME_LIMIT);
    let outcome = outcome.expect("it starts");
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let path = folder.path().join("report.html");
    let page = fs::read_to_string(&path).expect("the page");
    assert!(!page.contains("http://") || !page.contains("src="), "the page reads from elsewhere");
    let end = "const left = document.createElement('pre'); left.id = 'said';
        left.textContent = [...said, `error: ${document.documentElement.dataset.error ?? 'none'}`].join('\\n');
        document.body.append(left);";
    let page = page.replace("<head>", &format!("<head>{NOTE_ERRORS}"));
    let page = page.replace("</body>", &format!("<script>{TOOLS}{script}\n{end}</script></body>"));
    fs::write(&path, page).expect("file");
    let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
    let address = format!("file://{}{address}", path.display());
    let ours = [&*profile, "--virtual-time-budget=2000", "--dump-dom", &*address];
    let arguments = HEADLESS.into_iter().chain(ours);
    let outcome = browser.run_in(None, arguments, &[], TIME_LIMIT).expect("it starts");
    let shown = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let said =
        shown.split_once("<pre id=\"said\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (said, _) = said.unwrap_or_else(|| panic!("nothing was said: {}", failure(&shown)));
    let said = said.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    expected.assert_eq(&said);
}

/// The error that a page notes, and nothing else of it.
fn failure(page: &str) -> &str {
    let noted = page.split_once("data-error=\"").and_then(|(_, rest)| rest.split_once('"'));
    noted.map_or("no error is noted", |(error, _)| error)
}

#[test]
fn the_page_opens_at_what_was_found() {
    let script = "
        say('title', document.title);
        say('chosen', document.querySelector('#functions').selectedOptions[0].text);
        say('functions', all('#functions option').map((option) => option.text).join('; '));
        all('#summary p').forEach((p) => say('summary', p.textContent));
        say('open', all('[role=tab]').find((t) => t.ariaSelected === 'true').textContent);
        say('first finding', text('#findings h3'));
        say('at the line', all('#source .row').find((row) => row.textContent.includes('barrier(')).textContent);";
    check(
        "",
        script,
        &expect![[r#"
            title: k.cl - phalanx report
            chosen: sum (1 error, kernel)
            functions: sum (1 error, kernel); sum (body); copy (kernel); copy (body)
            summary: 45 of 59 values differ between threads of a wave; 44 depend on get_local_id(0).
            summary: 7 of 7 branches part threads of a wave; threads leave each loop in different rounds.
            summary: In 0 of 10 accesses of memory lanes of a wave reach far apart, or for one bank; phalanx check finds 1 error and no warning.
            open: Findings (1)
            first finding: error: barrier() is not executed by all threads of a workgroup
            at the line: 6 barrier(CLK_LOCAL_MEM_FENCE); error: `barrier()` is not executed by all threads of a workgroup
            error: none"#]],
    );
}

#[test]
fn a_click_shows_why_a_line_differs() {
    let script = "
        all('#source .row').find((row) => row.textContent.includes('k += 64')).click();
        say('picked', text('#code .row.picked'));
        say('colour', document.querySelector('#code .row.picked').className);
        all('#why li').forEach((step) => say('step', step.textContent));
        say('numbers', all('.badge').map((badge) => badge.textContent).join(' '));
        line('@llvm.amdgcn.workitem.id.x').click();
        say('mentions', all('.mention').length > 2);
        key('Escape');
        say('left', all('.mention, .badge, .picked').length);";
    check(
        "",
        script,
        &expect![[r#"
            picked: 661 br i1 %38, label %39, label %73
            colour: row l3 picked
            step: the branch of %36 is decided by %38
            step: %38 is computed from t (%11)
            step: t (%11) is the result of a call: get_local_id(0)
            numbers: 3 2 1
            mentions: true
            left: 0
            error: none"#]],
    );
}

#[test]
fn keys_and_search_move_through_the_code() {
    let script = "
        key('n');
        say('next', text('#code .row.picked .n + .g + span'));
        key('p');
        say('before', text('#code .row.picked .n + .g + span'));
        const search = document.querySelector('#search');
        search.value = 'store';
        search.dispatchEvent(new Event('input'));
        say('hits', `${text('#hits')}, ${all('#code .hit').length}`);
        key(']');
        say('function', location.hash);
        say('hits there', text('#hits'));
        document.querySelector('#tab-memory').click();
        say('memory', all('#memory .card p').map((p) => p.textContent).join(' | '));
        key('[');
        document.querySelector('#tab-loops').click();
        say('loops', text('#loops'));
        document.querySelector('#tab-graph').click();
        say('graph', all('#graph [data-node]').length === all('#code .row.label').length);";
    check(
        "",
        script,
        &expect![[r#"
            next: %11 = tail call i32 @llvm.amdgcn.workitem.id.x()
            before: br i1 %72, label %67, label %73, !llvm.loop !72
            hits: 5 lines, 5
            function: #__clang_ocl_kern_imp_sum
            hits there: 5 lines
            memory: %6 = load i32, ptr addrspace(4) %5, align 4, !dbg !40, !tbaa !30 | broadcast · at most 1 segment of 128 bytes | %9 = load i32, ptr addrspace(4) %8, align 4, !dbg !40, !tbaa !30 | broadcast · at most 1 segment of 128 bytes | store i32 %28, ptr addrspace(3) %29, align 4, !dbg !45, !tbaa !30 | consecutive · 4 bytes from lane to lane · at most 3 segments of 128 bytes | %33 = load i32, ptr addrspace(3) %32, align 4, !dbg !51, !tbaa !30 | consecutive · 4 bytes from lane to lane · at most 3 segments of 128 bytes | %34 = load i32, ptr addrspace(3) %29, align 4, !dbg !52, !tbaa !30 | consecutive · 4 bytes from lane to lane · at most 3 segments of 128 bytes | store i32 %35, ptr addrspace(3) %29, align 4, !dbg !52, !tbaa !30 | consecutive · 4 bytes from lane to lane · at most 3 segments of 128 bytes | %26 = load i32, ptr addrspace(1) %25, align 4, !dbg !43, !tbaa !30 | unknown | store i32 %37, ptr addrspace(1) %58, align 4, !dbg !59, !tbaa !30 | unknown | store i32 %37, ptr addrspace(1) %59, align 4, !dbg !59, !tbaa !30 | unknown | store i32 %37, ptr addrspace(1) %71, align 4, !dbg !59, !tbaa !30 | unknown
            loops: loop with header %67 at k.cl:10Threads of a wave leave it in different rounds.loop with header %52 at k.cl:10Threads of a wave leave it in different rounds.
            graph: true
            error: none"#]],
    );
}

/// A fix is shown as the lines that it changes; above the source is a map of its lines.
#[test]
fn a_fix_and_a_map_of_the_lines() {
    let kernel = "kernel void sum(global int *out) {
  local int part[128];
  int t = get_local_id(0);
  part[t] = t;
  out[t] = part[127 - t];
}
";
    if llvm_tools::require("clang").is_none() {
        return;
    }
    let script = "
        say('fix', text('.fix p'));
        all('.fix .row').forEach((row) => say('line', row.textContent));
        const map = document.querySelector('#source svg.map');
        say('map', map.getAttribute('aria-label'));
        say('bars', map.querySelectorAll('rect').length > 2);
        say('no map of the code', document.querySelector('#code svg') === null);";
    check_page(
        &[("k.cl", kernel)],
        &["report", "k.cl", "--group", "128", "--no-cache"],
        "",
        script,
        &expect![[r#"
            fix: Fix: put barrier() between the accesses; with this change the finding is gone.
            line: before line 5
            line: + barrier(CLK_LOCAL_MEM_FENCE);
            map: 3 of 4 lines with code differ between threads of a wave
            bars: true
            no map of the code: true
            error: none"#]],
    );
}

/// Which addresses and banks lanes touch, also where they are not evenly apart.
#[test]
fn pictures_of_lanes() {
    let text = "target triple = \"nvptx64-nvidia-cuda\"
@tile = internal addrspace(3) global [4096 x i8] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @f(ptr addrspace(1) %p, i32 %n) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %square = mul i32 %x, %x
  %low = and i32 %square, 127
  %at = zext i32 %low to i64
  %a = getelementptr i32, ptr addrspace(1) %p, i64 %at
  %v = load i32, ptr addrspace(1) %a, align 4
  %row = shl i32 %x, 7
  %b = getelementptr i8, ptr addrspace(3) @tile, i32 %row
  store i32 %v, ptr addrspace(3) %b, align 4
  %w = load i32, ptr addrspace(1) %p, align 4
  ret void
}
";
    let script = "
        all('#memory .card').forEach((card) => {
          say('access', [...card.querySelectorAll('p')].map((p) => p.textContent).join(': '));
          say('lanes', card.querySelectorAll('.by-lane .lane').length);
          card.querySelectorAll('svg')
            .forEach((svg) => say('picture', svg.getAttribute('aria-label')));
          say('banks', [...card.querySelectorAll('.by-bank title')]
            .map((title) => title.textContent).slice(0, 2).join('; '));
          say('a lane', card.querySelectorAll('.by-lane title')[30].textContent);
        });
        say('map', document.querySelector('#code svg.map').getAttribute('aria-label'));";
    check_page(
        &[("f.ll", text)],
        &["report", "f.ll", "--group", "32"],
        "",
        script,
        &expect![[r#"
            access: store i32 %v, ptr addrspace(3) %b, align 4: strided · 128 bytes from lane to lane · at most 32 segments of 128 bytes · 32 words of one bank at once
            lanes: 32
            picture: 32 lanes by address: 32 segments of 128 bytes if aligned
            picture: 32 banks: 32 words of one bank, one after the other
            banks: bank 0: 32 words; bank 1: 0 words
            a lane: lane 30: +3840 bytes
            access: %v = load i32, ptr addrspace(1) %a, align 4: irregular · at most 5 segments of 128 bytes
            lanes: 32
            picture: 32 lanes by address: 4 segments of 128 bytes if aligned
            banks: 
            a lane: lane 30: +16 bytes
            access: %w = load i32, ptr addrspace(1) %p, align 4: broadcast · at most 1 segment of 128 bytes
            lanes: 32
            picture: 32 lanes by address: 1 segment of 128 bytes if aligned
            banks: 
            a lane: lane 30: +0 bytes
            map: 8 of 11 lines with code differ between threads of a wave
            error: none"#]],
    );
}

#[test]
fn a_link_opens_its_function() {
    check(
        "#copy",
        "say('sentence', text('#summary p'));",
        &expect![[r#"
        sentence: 7 of 19 values differ between threads of a wave; 7 depend on get_local_id(0).
        error: none"#]],
    );
}

#[test]
fn a_function_is_drawn_as_svg() {
    let folder = tempfile::tempdir().expect("folder");
    let text = "define void @f(i1 %c) {\na:\n  br i1 %c, label %b, label %d\nb:\n  br label %d\nd:\n  ret void\n}\n";
    fs::write(folder.path().join("f.ll"), text).expect("file");
    for kind in ["cfg", "cycles", "domtree", "postdomtree", "affect"] {
        let arguments = ["graph", "f.ll", "--format", "svg", "--kind", kind];
        let outcome = crate::phalanx().run_in(Some(folder.path()), arguments, &[], TIME_LIMIT);
        let outcome = outcome.expect("it starts");
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        let drawn = String::from_utf8_lossy(&outcome.stdout).into_owned();
        assert_eq!(drawn.matches("<svg").count(), 1, "{kind}");
        assert_eq!(drawn.matches("</svg>").count(), 1, "{kind}");
        let nodes = if kind == "postdomtree" || kind == "affect" { 4 } else { 3 };
        assert_eq!(drawn.matches("data-node=").count(), nodes, "{kind}: {drawn}");
    }
}

/// Two versions side by side: a transform asks the thread's index in place of an argument.
#[test]
fn two_versions_side_by_side() {
    let before = "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @f(ptr addrspace(1) %p, i32 %n) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %old = mul i32 %n, 3
  %c = icmp ult i32 %n, 7
  br i1 %c, label %a, label %b
a:
  store i32 %n, ptr addrspace(1) %p
  br label %b
b:
  ret void
}
";
    let now = before.replace("  %old = mul i32 %n, 3\n", "").replace("ult i32 %n", "ult i32 %id");
    let now = now.replace("store i32 %n", "fence seq_cst\n  store i32 %n");
    let script = "
        all('#summary p').slice(-1).forEach((p) => say('summary', p.textContent));
        say('open', all('[role=tab]').find((t) => t.ariaSelected === 'true').textContent);
        all('#changes li').forEach((change) => say('change', change.textContent));
        say('gone', all('#source .gone').map((row) => row.textContent).join('; '));
        say('new', all('#code .new').map((row) => row.textContent).join('; '));
        all('#source .row').find((row) => row.textContent.includes('icmp')).click();
        say('picked', text('#code .row.picked'));
        say('why', text('#why ol'));";
    check_page(
        &[("before.ll", before), ("now.ll", &now)],
        &["report", "now.ll", "--against", "before.ll"],
        "",
        script,
        &expect![[r#"
            summary: Against before.ll: 3 lines differ between threads that agreed, 0 the other way round; 1 line is new, 1 line is gone.
            open: Changes (3)
            change: %c = icmp ult i32 %id, 7: differs between threads of a wave; before: the same for all threads
            change: br i1 %c, label %a, label %b: differs between threads of a wave; before: the same for all threads
            change: a:: some threads of a wave skip this block; before: all threads execute this block
            gone: 5 %old = mul i32 %n, 3
            new: 8 fence seq_cst
            picked: 51 %c = icmp ult i32 %id, 7
            why: %c is computed from %id%id is the result of a call: the thread's index x
            error: none"#]],
    );
}

/// Of several files each has a page, and one page has links to all functions.
#[test]
fn pages_of_several_files() {
    let folder = tempfile::tempdir().expect("folder");
    let text =
        "target triple = \"amdgcn-amd-amdhsa\"\ndefine amdgpu_kernel void @f() {\n  ret void\n}\n";
    fs::create_dir(folder.path().join("x")).expect("folder");
    for name in ["a.ll", "x/a.ll"] {
        fs::write(folder.path().join(name), text).expect("file");
    }
    let run = |arguments: &[&str]| {
        let outcome = crate::phalanx().run_in(Some(folder.path()), arguments, &[], TIME_LIMIT);
        outcome.expect("it starts")
    };
    let outcome = run(&["report", "a.ll", "x/a.ll", "-o", "all.html"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let list = fs::read_to_string(folder.path().join("all.html")).expect("the page");
    for address in ["all/a.ll.html", "all/a.ll.2.html"] {
        assert!(list.contains(&format!("<a href=\"{address}#f\">f</a>")), "{list}");
        let page = fs::read_to_string(folder.path().join(address)).expect("a page");
        assert!(page.contains("id=\"f0\""), "{address}");
    }
    assert_eq!(run(&["report", "a.ll", "x/a.ll", "-o", "-"]).status, Some(2));
    fs::write(folder.path().join("b.ll"), "nothing").expect("file");
    let outcome = run(&["report", "a.ll", "b.ll"]);
    assert_eq!(outcome.status, Some(2), "one of them is no module: {outcome:?}");
}

/// Where something was not judged, the summary says so.
#[test]
fn what_was_not_judged_is_in_the_summary() {
    let folder = tempfile::tempdir().expect("folder");
    let text = "target triple = \"nvptx64-nvidia-cuda\"\n\
        declare void @strange() convergent\n\
        define ptx_kernel void @f() {\n  call void @strange()\n  ret void\n}\n";
    fs::write(folder.path().join("f.ll"), text).expect("file");
    let arguments = ["report", "f.ll", "-o", "-"];
    let outcome = crate::phalanx().run_in(Some(folder.path()), arguments, &[], TIME_LIMIT);
    let page = String::from_utf8(outcome.expect("it starts").stdout).expect("text");
    let words = "finds no error and no warning; 1 operation was not judged, see the head.";
    assert!(page.contains(words), "{page}");
}
