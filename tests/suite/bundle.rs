//! Bundles: published whole, identical wherever they are made, and every change of one found.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use candle_graph::load::bundle::{self, FileEntry, Manifest, hash_all, layout};
use serde_json::{Value, json};

use crate::world::{Lines, Ran, World, files_below, fixture};

/// The key pair of RFC 8410, section 10.
const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
                       -----END PRIVATE KEY-----\n";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
                      -----END PUBLIC KEY-----\n";
/// The public key of RFC 8032, section 7.1, test 1.
const OTHER_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
                            -----END PUBLIC KEY-----\n";

impl World {
    fn report(&self, input: &Path, bundle: &str, more: &[&str]) -> Ran {
        let mut arguments = vec![OsStr::new("report"), input.as_os_str(), OsStr::new("--bundle"), OsStr::new(bundle)];
        arguments.extend(more.iter().map(OsStr::new));
        self.run(&arguments)
    }

    fn verify(&self, bundle: &str, more: &[&str]) -> Ran {
        let mut arguments = vec!["verify", bundle];
        arguments.extend(more);
        self.run(&arguments)
    }

    /// A bundle of the sound trace.
    fn bundle(&self, name: &str) -> PathBuf {
        let trace = self.write("sound.jsonl", Lines::sound().text());
        let ran = self.report(&trace, name, &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        self.path(name)
    }
}

/// Every file below a directory, by its path there.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("below").to_str().expect("UTF-8").to_owned();
                found.push((name, std::fs::read(&path).expect("a file")));
            }
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for (name, bytes) in contents(from) {
        let path = to.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }
}

/// Makes the manifest say what the files are now, as a forger would.
fn reseal(dir: &Path) {
    let old: Value =
        serde_json::from_slice(&std::fs::read(dir.join(layout::MANIFEST)).expect("a manifest")).expect("JSON");
    let paths: Vec<String> = contents(dir).into_iter().map(|(n, _)| n).filter(|n| n != layout::MANIFEST).collect();
    let files = hash_all(dir, &paths).expect("hashes");
    let manifest = Manifest::new(old["run_id"].as_str().expect("a run").to_owned(), files);
    std::fs::write(dir.join(layout::MANIFEST), manifest.to_bytes()).expect("a manifest");
}

#[test]
fn a_published_bundle_verifies_and_reads_like_its_trace() {
    let world = World::new();
    let trace = world.write("sound.jsonl", Lines::sound().text());
    let receipt = world.report(&trace, "b", &[]).json();
    assert_eq!(receipt["schema"], "candle-graph/publication/1");
    assert_eq!((&receipt["status"], &receipt["bundle_path"]), (&json!("published"), &json!("b")));
    assert_eq!(receipt["run_id"], "run-1");
    let files = contents(&world.path("b"));
    let manifest = &files.iter().find(|(n, _)| n == layout::MANIFEST).expect("a manifest").1;
    let verification = &receipt["verification"];
    assert_eq!(verification["manifest_sha256"], json!(bundle::sha256(manifest)), "the identity is the manifest's hash");
    let listed = files.iter().filter(|(n, _)| n != layout::MANIFEST);
    assert_eq!(verification["files_verified"], json!(listed.clone().count()));
    assert_eq!(verification["bytes_verified"], json!(listed.map(|(_, b)| b.len()).sum::<usize>()));

    let verified = world.verify("b", &["--semantic"]).json();
    assert_eq!(verified["receipt"], *verification);
    assert_eq!(verified["semantic"]["status"], "rederived_match");
    assert_eq!(verified["signature"]["status"], "unsigned");
    for arguments in [
        vec!["overview"],
        vec!["summary"],
        vec!["import"],
        vec!["query", "--kind", "spans", "--all"],
        vec!["query", "--kind", "memory"],
    ] {
        let of = |input: &str| {
            let mut all = arguments.clone();
            all.insert(1, input);
            let mut document = world.run(&all).json();
            // Where it was read from is all that differs.
            let inputs = ["input", "next_queries"];
            document.as_object_mut().expect("an object").retain(|name, _| !inputs.contains(&name.as_str()));
            if let Some(summary) = document.get_mut("summary") {
                summary.as_object_mut().expect("an object").remove("input");
            }
            document
        };
        assert_eq!(of("b"), of("sound.jsonl"), "{arguments:?}");
    }
    let input = &world.run(&["overview", "b"]).json()["input"];
    assert_eq!((&input["kind"], &input["manifest_sha256"]), (&json!("bundle"), &verification["manifest_sha256"]));
    let evidence: Value =
        serde_json::from_slice(&std::fs::read(world.path("b/evidence.json")).expect("evidence")).expect("JSON");
    let overview = world.run(&["overview", "b"]).json();
    for part in ["provenance", "health", "capabilities", "counts", "timing", "findings", "gaps", "memory"] {
        assert_eq!(evidence[part], overview[part], "{part}");
    }
    // Every table that has rows is there, and what SQL reads is what was recorded.
    for table in
        ["spans", "ops", "tensors", "tensor_stats", "gradients", "memory", "device_memory", "device_intervals", "edges"]
    {
        assert!(world.path(format!("b/tables/{table}.parquet")).is_file(), "{table}");
        let count = format!("SELECT count(*) AS n FROM {table}");
        assert_eq!(
            world.run(&["sql", "b", &count]).json()["rows"],
            world.run(&["sql", "sound.jsonl", &count]).json()["rows"],
            "{table}"
        );
    }
}

#[test]
fn the_same_trace_is_the_same_bundle() {
    let world = World::new();
    let first = contents(&world.bundle("b"));
    let elsewhere = world.path("other place");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let moved = elsewhere.join("trace.jsonl");
    std::fs::write(&moved, Lines::sound().text()).expect("a trace");
    let mut command = world.command(&["report".as_ref(), "trace.jsonl".as_ref(), "--bundle".as_ref(), "c".as_ref()]);
    command.current_dir(&elsewhere);
    for (name, value) in [
        ("HOME", "/nowhere"),
        ("USER", "somebody"),
        ("LOGNAME", "somebody"),
        ("HOSTNAME", "elsewhere"),
        ("TZ", "Asia/Kathmandu"),
        ("LANG", "tr_TR.UTF-8"),
        ("LC_ALL", "de_DE.UTF-8"),
        ("RUST_BACKTRACE", "full"),
        ("COLUMNS", "20"),
    ] {
        command.env(name, value);
    }
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(contents(&elsewhere.join("c")), first);
    // Published again from itself, it is itself.
    assert_eq!(world.run(&["report", "b", "--bundle", "d"]).code, Some(0));
    assert_eq!(contents(&world.path("d")), first);
    let again = world.run(&["report", "sound.jsonl", "--bundle", "b"]).json();
    assert_eq!(again["status"], "already_published");
    assert_eq!(contents(&world.path("b")), first);
}

#[test]
fn nothing_is_published_over_or_into_anything() {
    let world = World::new();
    let bundle = world.bundle("b");
    let before = contents(&bundle);
    let mut other = Lines::sound();
    other.meta()["run_id"] = json!("run-2");
    let trace = world.write("other.jsonl", other.text());
    world.write("file", "x");
    std::fs::create_dir(world.path("empty")).expect("a folder");
    std::fs::create_dir(world.path("full")).expect("a folder");
    world.write("full/x", "x");
    std::os::unix::fs::symlink("nowhere", world.path("dangling")).expect("a link");
    std::os::unix::fs::symlink("b", world.path("way")).expect("a link");
    for (destination, problem) in [
        ("b", "another bundle, of run run-1"),
        ("way", "another bundle"),
        ("file", "exists already"),
        ("empty", "exists already"),
        ("full", "exists already"),
        ("dangling", "exists already"),
        ("b/inside", "lies in the bundle"),
        ("b/tables/inside", "lies in the bundle"),
        ("way/inside", "lies in the bundle"),
        ("full/../b/inside", "lies in the bundle"),
        ("file/inside", "file"),
        ("..", "names no bundle"),
        ("none/../b/inside", "leads through `..`"),
    ] {
        let ran = world.report(&trace, destination, &[]);
        assert_eq!(ran.code, Some(1), "{destination}");
        assert!(ran.stderr.contains(problem) && ran.stderr.lines().count() == 1, "{destination}: {}", ran.stderr);
    }
    assert_eq!(contents(&bundle), before);
    assert_eq!(contents(&world.path("full")), [("x".to_owned(), b"x".to_vec())]);
    // Parents are made, as a session makes them.
    assert_eq!(world.report(&trace, "new/place/c", &[]).code, Some(0));
    // Nothing is written into any bundle, nor into the one that is about to be.
    for place in ["b/bundle.json", "b/tables/x", "way/x"] {
        let ran = world.run(&["overview", "other.jsonl", "-o", place]);
        assert!(ran.code == Some(1) && ran.stderr.contains("a bundle never changes"), "{}", ran.stderr);
    }
    for place in ["fresh/receipt.json", "./fresh/tables/receipt.json"] {
        let ran = world.report(&trace, "fresh", &["-o", place]);
        assert!(ran.code == Some(1) && ran.stderr.contains("lies in fresh"), "{}", ran.stderr);
        assert!(!world.path("fresh").exists());
    }
    let text = world.run(&["overview", "b", "-o", "b/overview.json"]);
    assert!(text.code == Some(1) && text.stderr.contains("a bundle never changes"), "{}", text.stderr);
}

/// `change`, done to a copy of a bundle, and what is said of it then.
fn changed(world: &World, change: &dyn Fn(&Path)) -> Result<(), String> {
    let dir = world.path("changed");
    let _ = std::fs::remove_dir_all(&dir);
    copy(&world.path("b"), &dir);
    change(&dir);
    let ran = world.verify("changed", &[]);
    match ran.code {
        Some(0) => Ok(()),
        Some(1) if ran.stderr.lines().count() == 1 => Err(ran.stderr),
        other => panic!("{other:?}: {}", ran.stderr),
    }
}

#[test]
fn every_byte_counts() {
    let world = World::new();
    let dir = world.bundle("b");
    let files = contents(&dir);
    assert!(bundle::inspect(&dir).is_ok());
    let halves = [0, 1].map(|half| {
        let mine = world.path(format!("half-{half}"));
        copy(&dir, &mine);
        (half, mine)
    });
    let flipped = std::thread::scope(|scope| {
        let threads = halves.map(|(half, dir)| {
            let files = &files;
            scope.spawn(move || {
                let mut flipped = 0;
                for (name, bytes) in files {
                    let path = dir.join(name);
                    for at in (half..bytes.len()).step_by(2 * stride(bytes)) {
                        let mut other = bytes.clone();
                        other[at] ^= 1 << (at % 8);
                        std::fs::write(&path, &other).expect("a file");
                        assert!(bundle::inspect(&dir).is_err(), "byte {at} of {name}");
                        flipped += 1;
                    }
                    std::fs::write(&path, bytes).expect("a file");
                    assert!(bundle::inspect(&dir).is_ok(), "{name}");
                }
                flipped
            })
        });
        threads.map(|t| t.join().expect("no panic")).iter().sum::<usize>()
    });
    let of =
        |bytes: &Vec<u8>| [0, 1].map(|half| (half..bytes.len()).step_by(2 * stride(bytes)).len()).iter().sum::<usize>();
    assert_eq!(flipped, files.iter().map(|(_, b)| of(b)).sum::<usize>());
}

/// Every byte of a small file, and an odd step through a larger one: each flip hashes the whole bundle again.
fn stride(bytes: &[u8]) -> usize {
    (bytes.len() / 600) | 1
}

#[test]
fn a_file_more_less_or_elsewhere_is_found() {
    let world = World::new();
    world.bundle("b");
    assert_eq!(changed(&world, &|_| {}), Ok(()));
    let names: Vec<String> = contents(&world.path("b")).into_iter().map(|(n, _)| n).collect();
    for name in &names {
        let removed = changed(&world, &|dir| std::fs::remove_file(dir.join(name)).expect("a file"));
        let wanted = if name == layout::MANIFEST { "is no bundle" } else { "is missing" };
        assert!(removed.expect_err(name).contains(wanted));
        let longer = changed(&world, &|dir| {
            let mut bytes = std::fs::read(dir.join(name)).expect("a file");
            bytes.push(b'\n');
            std::fs::write(dir.join(name), bytes).expect("a file");
        });
        assert!(longer.expect_err(name).contains("was changed"));
        let linked = changed(&world, &|dir| {
            let kept = dir.parent().expect("a world").join("kept");
            std::fs::rename(dir.join(name), &kept).expect("a file");
            std::os::unix::fs::symlink(&kept, dir.join(name)).expect("a link");
        });
        assert!(linked.expect_err(name).contains("symbolic link"));
        let renamed = changed(&world, &|dir| std::fs::rename(dir.join(name), dir.join("zzz")).expect("a file"));
        let renamed = renamed.expect_err(name);
        assert!(renamed.contains("not in its manifest") || renamed.contains("is no bundle"), "{renamed}");
    }
    let swapped = changed(&world, &|dir| {
        let (a, b) = (dir.join("tables/ops.parquet"), dir.join("tables/spans.parquet"));
        let bytes = (std::fs::read(&a).expect("a file"), std::fs::read(&b).expect("a file"));
        std::fs::write(&a, bytes.1).expect("a file");
        std::fs::write(&b, bytes.0).expect("a file");
    });
    assert!(swapped.expect_err("swapped").contains("was changed"));
    for (what, add) in [
        ("a file", (&|dir: &Path| std::fs::write(dir.join("notes.txt"), "x").expect("a file")) as &dyn Fn(&Path)),
        ("a hidden file", &|dir: &Path| std::fs::write(dir.join("tables/.x"), "x").expect("a file")),
        ("a table", &|dir: &Path| std::fs::write(dir.join("tables/more.parquet"), "x").expect("a file")),
        ("an empty folder", &|dir: &Path| std::fs::create_dir(dir.join("nsight")).expect("a folder")),
        ("a folder within", &|dir: &Path| std::fs::create_dir(dir.join("tables/x")).expect("a folder")),
        ("a pipe", &|dir: &Path| pipe(&dir.join("pipe"))),
        ("a link to nothing", &|dir: &Path| std::os::unix::fs::symlink("x", dir.join("l")).expect("a link")),
        ("a name that is no UTF-8", &|dir: &Path| {
            use std::os::unix::ffi::OsStrExt;
            std::fs::write(dir.join(OsStr::from_bytes(b"\xff")), "x").expect("a file");
        }),
    ] {
        let added = changed(&world, add).expect_err(what);
        assert!(added.contains("not in its manifest") || added.contains("symbolic link"), "{what}: {added}");
    }
    let piped = changed(&world, &|dir| {
        std::fs::remove_file(dir.join("tables/ops.parquet")).expect("a file");
        pipe(&dir.join("tables/ops.parquet"));
    });
    assert!(piped.expect_err("a pipe").contains("no regular file"));
    let moved = changed(&world, &|dir| {
        std::fs::rename(dir.join("tables"), dir.parent().expect("a world").join("moved")).expect("a folder");
        std::os::unix::fs::symlink("../moved", dir.join("tables")).expect("a link");
    });
    assert!(moved.expect_err("a folder elsewhere").contains("symbolic link"));
}

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

#[test]
fn a_manifest_that_lies_is_found() {
    let world = World::new();
    world.bundle("b");
    let edit = |dir: &Path, change: &dyn Fn(&mut Manifest)| {
        let path = dir.join(layout::MANIFEST);
        let mut manifest = Manifest::parse(&std::fs::read(&path).expect("a manifest"), &path).expect("a manifest");
        change(&mut manifest);
        std::fs::write(path, manifest.to_bytes()).expect("a manifest");
    };
    let entry = |path: &str| FileEntry { path: path.to_owned(), bytes: 1, sha256: bundle::sha256(b"x") };
    fn table(manifest: &mut Manifest) -> &mut FileEntry {
        manifest.files.iter_mut().find(|f| f.path == "tables/ops.parquet").expect("operations")
    }
    for (what, change, problem) in [
        (
            "another run",
            (&|m: &mut Manifest| m.run_id = "run-2".to_owned()) as &dyn Fn(&mut Manifest),
            "names run run-2",
        ),
        ("ten gigabytes", &|m: &mut Manifest| table(m).bytes = 10_000_000_000, "instead of 10000000000"),
        ("all bytes there are", &|m: &mut Manifest| table(m).bytes = u64::MAX, "instead of"),
        ("a page of ten gigabytes", &|m: &mut Manifest| m.files[0].bytes = 10_000_000_000, "more than it ever has"),
        ("a path twice", &|m: &mut Manifest| m.files.insert(0, m.files[0].clone()), "twice"),
        ("another order", &|m: &mut Manifest| m.files.reverse(), "out of order"),
        ("a path outside", &|m: &mut Manifest| m.files.insert(0, entry("../b/run.json")), "no bundle has"),
        ("a path from the root", &|m: &mut Manifest| m.files.insert(0, entry("/etc/passwd")), "no bundle has"),
        ("itself", &|m: &mut Manifest| m.files.insert(0, entry(layout::MANIFEST)), "no bundle has"),
        ("a hash that is none", &|m: &mut Manifest| m.files[0].sha256 = "00".to_owned(), "no SHA-256"),
        ("nothing", &|m: &mut Manifest| m.files.clear(), "not in its manifest"),
        ("another version", &|m: &mut Manifest| m.schema = "candle-graph/bundle/3".to_owned(), "this version reads"),
    ] {
        let found = changed(&world, &|dir| edit(dir, change)).expect_err(what);
        assert!(found.contains(problem), "{what}: {found}");
    }
    for (bytes, problem) in [
        (b"".as_slice(), "no manifest"),
        (b"{}", "no manifest"),
        (b"[[[[[[[[[[", "no manifest"),
        (b"\xff\xfe", "no manifest"),
        (br#"{"schema":"candle-graph/bundle/1","run_id":"r","files":[]}"#, "trace.jsonl"),
    ] {
        let found = changed(&world, &|dir| std::fs::write(dir.join(layout::MANIFEST), bytes).expect("a manifest"));
        assert!(found.expect_err("no manifest").contains(problem), "{problem}");
    }
    let deep =
        changed(&world, &|dir| std::fs::write(dir.join(layout::MANIFEST), "[".repeat(1 << 20)).expect("a manifest"));
    assert!(deep.expect_err("deep nesting").contains("no manifest"));
    let huge = changed(&world, &|dir| {
        std::fs::File::create(dir.join(layout::MANIFEST)).and_then(|f| f.set_len(10 << 30)).expect("a sparse file")
    });
    assert!(huge.expect_err("a sparse manifest").contains("larger than"));
}

#[test]
fn whoever_changes_what_follows_is_found_by_deriving_it_again() {
    let world = World::new();
    let dir = world.bundle("b");
    let source = |name: &str| {
        name == layout::MANIFEST
            || name == layout::RUN
            || candle_graph::tables::events().iter().any(|t| bundle::table_path(t.name) == name)
    };
    let derived: Vec<String> = contents(&dir).into_iter().map(|(n, _)| n).filter(|n| !source(n)).collect();
    assert!(derived.len() > 10 && derived.contains(&"report.md".to_owned()), "{derived:?}");
    assert_eq!(
        world.verify("b", &["--semantic"]).json()["semantic"]["files"],
        json!(derived.len()),
        "all are derived again"
    );
    let one_of_each = [
        "evidence.json",
        "report.md",
        "tables/coverage.parquet",
        "tables/labels.parquet",
        "tables/run.parquet",
        "tables/schema.parquet",
    ];
    let removed = ["report.md", "tables/op_totals.parquet"].map(|name| (name, false));
    for (name, forge) in one_of_each.map(|name| (name, true)).into_iter().chain(removed) {
        let forged = world.path("forged");
        let _ = std::fs::remove_dir_all(&forged);
        copy(&dir, &forged);
        if forge {
            let mut bytes = std::fs::read(forged.join(name)).expect("a file");
            let at = bytes.len() / 2;
            bytes[at] ^= 1;
            std::fs::write(forged.join(name), bytes).expect("a file");
        } else {
            std::fs::remove_file(forged.join(name)).expect("a file");
        }
        reseal(&forged);
        assert_eq!(world.verify("forged", &[]).code, Some(0), "{name}: its hashes are right");
        let ran = world.verify("forged", &["--semantic"]);
        let wanted = if forge { "does not follow" } else { "is missing, and follows" };
        assert!(
            ran.code == Some(1) && ran.stderr.contains(wanted) && ran.stderr.contains(name),
            "{name}: {}",
            ran.stderr
        );
    }
    // A table that nothing derives, and a recorded table of another run.
    std::fs::copy(dir.join("tables/labels.parquet"), world.path("forged/tables/more.parquet")).expect("a copy");
    reseal(&world.path("forged"));
    assert!(world.verify("forged", &["--semantic"]).stderr.contains("more.parquet"));
    let mut other = Lines::sound();
    other.meta()["run_id"] = json!("run-2");
    let trace = world.write("other.jsonl", other.text());
    assert_eq!(world.report(&trace, "c", &[]).code, Some(0));
    std::fs::copy(world.path("c/tables/ops.parquet"), dir.join("tables/ops.parquet")).expect("a copy");
    reseal(&dir);
    let ran = world.verify("b", &[]);
    assert!(ran.code == Some(1) && ran.stderr.contains("belongs to run run-2"), "{}", ran.stderr);
}

#[test]
fn a_signature_is_of_one_bundle_and_one_key() {
    let world = World::new();
    let trace = world.write("sound.jsonl", Lines::sound().text());
    world.write("key.pem", PRIVATE);
    world.write("public.pem", PUBLIC);
    world.write("other.pem", OTHER_PUBLIC);
    assert_eq!(world.report(&trace, "plain", &[]).code, Some(0));
    let receipt = world.report(&trace, "b", &["--sign", "key.pem"]).json();
    let identity = &receipt["verification"]["manifest_sha256"];
    assert_eq!(
        bundle::sha256(&std::fs::read(world.path("plain/bundle.json")).expect("a manifest")),
        identity.as_str().expect("text")
    );
    let verified = world.verify("b", &["--require-signature", "public.pem"]).json();
    assert_eq!(verified["signature"]["status"], "verified");
    assert_eq!(world.verify("b", &["--semantic"]).json()["signature"]["status"], "not_checked");
    assert_eq!(world.verify("plain", &[]).json()["signature"]["status"], "unsigned");
    let refused = |bundle: &str, key: &str, problem: &str| {
        let ran = world.verify(bundle, &["--require-signature", key]);
        assert!(ran.code == Some(1) && ran.stderr.contains(problem), "{}", ran.stderr);
    };
    refused("plain", "public.pem", "is not signed");
    refused("b", "other.pem", "was not made with the key");
    refused("b", "key.pem", "is a private key");
    refused("b", "nowhere.pem", "cannot open");
    // Signed already with this key, it is there; with another, it is not this one.
    assert_eq!(world.report(&trace, "b", &["--sign", "key.pem"]).json()["status"], "already_published");
    assert_eq!(receipt["signed_by"], verified["signature"]["keyid"]);
    // The private key of RFC 8032, section 7.1, test 1.
    let other_key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
                     -----END PRIVATE KEY-----\n";
    world.write("other-key.pem", other_key);
    let ran = world.report(&trace, "b", &["--sign", "other-key.pem"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("signed with another key"), "{}", ran.stderr);
    let ran = world.report(&trace, "plain", &["--sign", "key.pem"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("without a signature"), "{}", ran.stderr);
    // Published anew unchanged, it stays signed.
    assert_eq!(world.run(&["report", "b", "--bundle", "again"]).code, Some(0));
    assert_eq!(world.verify("again", &["--require-signature", "public.pem"]).code, Some(0));
    // A signature of another bundle.
    let mut other = Lines::sound();
    other.meta()["run_id"] = json!("run-2");
    let other = world.write("other.jsonl", other.text());
    assert_eq!(world.report(&other, "c", &["--sign", "key.pem"]).code, Some(0));
    std::fs::copy(world.path("b/signature.json"), world.path("c/signature.json")).expect("a copy");
    refused("c", "public.pem", "signs something else");
    let unchecked = world.verify("c", &[]);
    assert!(unchecked.code == Some(1) && unchecked.stderr.contains("signs something else"), "{}", unchecked.stderr);
    // Every byte of the envelope counts, whether somebody has the key or not.
    let path = world.path("b/signature.json");
    let envelope = std::fs::read(&path).expect("an envelope");
    let key = world.path("public.pem");
    let options = candle_graph::output::bundle::VerifyOptions { semantic: false, required_key: Some(&key) };
    let check = || candle_graph::output::bundle::verify(&world.path("b"), &options);
    assert!(check().is_ok());
    let without = candle_graph::output::bundle::VerifyOptions::default();
    for at in 0..envelope.len() {
        let mut bytes = envelope.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, bytes).expect("an envelope");
        assert!(check().is_err(), "byte {at}");
        assert!(candle_graph::output::bundle::verify(&world.path("b"), &without).is_err(), "byte {at}, without a key");
    }
    for (name, text, problem) in [
        ("text.pem", "hello", "no Ed25519 private key"),
        ("public.pem", PUBLIC, "is a public key"),
        (
            "locked.pem",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "encrypted",
        ),
    ] {
        world.write(name, text);
        let ran = world.report(&trace, "d", &["--sign", name]);
        assert!(ran.code == Some(1) && ran.stderr.contains(problem), "{name}: {}", ran.stderr);
        assert!(!world.path("d").exists());
    }
}

#[test]
fn nsight_reports_travel_unchanged() {
    let world = World::new();
    let trace = world.write("sound.jsonl", Lines::sound().text());
    std::fs::create_dir(world.path("n")).expect("a folder");
    world.write("n/my run_cuda_gpu_trace.csv", "Start (ns),Name\n1,\"k,1\"\n");
    world.write("n/x.nsys-rep", b"\x00\xff\x01");
    assert_eq!(world.report(&trace, "b", &["--nsight-dir", "n"]).code, Some(0));
    for name in ["my run_cuda_gpu_trace.csv", "x.nsys-rep"] {
        let read = |dir: &str| std::fs::read(world.path(dir).join(name)).expect("a file");
        assert_eq!(read("b/nsight"), read("n"));
    }
    assert_eq!(world.verify("b", &["--semantic"]).json()["semantic"]["status"], "rederived_match");
    // Published anew, a bundle takes them along; others cannot join them.
    assert_eq!(world.run(&["report", "b", "--bundle", "again"]).code, Some(0));
    assert_eq!(contents(&world.path("again")), contents(&world.path("b")));
    let both = world.run(&["report", "b", "--bundle", "c", "--nsight-dir", "n"]);
    assert!(both.code == Some(1) && both.stderr.contains("carries Nsight reports already"), "{}", both.stderr);
    let refused = |problem: &str| {
        let ran = world.report(&trace, "c", &["--nsight-dir", "n"]);
        assert!(ran.code == Some(1) && ran.stderr.contains(problem), "{}", ran.stderr);
        assert!(!world.path("c").exists());
    };
    std::os::unix::fs::symlink("x.nsys-rep", world.path("n/link.csv")).expect("a link");
    refused("symbolic link");
    std::fs::remove_file(world.path("n/link.csv")).expect("a link");
    std::fs::create_dir(world.path("n/more")).expect("a folder");
    refused("is a directory");
    std::fs::remove_dir(world.path("n/more")).expect("a folder");
    pipe(&world.path("n/pipe.csv"));
    refused("no regular file");
    std::fs::remove_file(world.path("n/pipe.csv")).expect("a pipe");
    world.write("n/.hidden.csv", "x");
    refused("no bundle can hold");
    let ran = world.report(&trace, "c", &["--nsight-dir", "nowhere"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("nowhere"), "{}", ran.stderr);
}

#[test]
fn what_was_published_stands_whatever_becomes_of_the_receipt() {
    let world = World::new();
    let trace = world.write("sound.jsonl", Lines::sound().text());
    let mut command = world.command(&["report".as_ref(), trace.as_os_str(), "--bundle".as_ref(), "b".as_ref()]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full disk");
    let output = command.stdout(full).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("is published at b"), "{stderr}");
    assert_eq!(world.verify("b", &[]).code, Some(0));
    assert_eq!(world.report(&trace, "c", &["-o", "receipt.json"]).code, Some(0));
    let receipt: Value =
        serde_json::from_slice(&std::fs::read(world.path("receipt.json")).expect("a receipt")).expect("JSON");
    assert_eq!(receipt["status"], "published");
}

/// A table that another tool wrote again, every column nullable, is encoded anew: a bundle holds what the recorder writes.
#[test]
fn modes_and_forms_of_the_input_are_not_published() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let bundle = world.bundle("b");
    let table = bundle.join("tables/ops.parquet");
    let mode = std::fs::metadata(&table).expect("a table").permissions().mode() & 0o7777;
    assert_eq!(mode & 0o7000, 0);
    assert_eq!(mode & 0o600, 0o600);
    let trace = world.path("capture.trace");
    let session =
        candle_graph::TraceSession::open(&trace, candle_graph::ProfileRun::training("t", 1, "cpu")).expect("a session");
    drop(session.begin_measurement("m"));
    session.finish().expect("a trace");
    let spans = trace.join("tables/spans.parquet");
    std::fs::set_permissions(&spans, std::fs::Permissions::from_mode(0o4700)).expect("a mode");
    assert_eq!(world.report(&trace, "c", &[]).code, Some(0));
    let mode = std::fs::metadata(world.path("c/tables/spans.parquet")).expect("a table").permissions().mode() & 0o7777;
    assert_eq!(mode & 0o4100, 0, "{mode:o}");
    assert_eq!(
        std::fs::read(&spans).expect("a table"),
        std::fs::read(world.path("c/tables/spans.parquet")).expect("a table")
    );
}

/// Failed, interrupted and empty captures are published too: their bundle says what is known.
#[test]
fn every_fixture_can_be_published() {
    let world = World::new();
    let fixtures = files_below("tests/fixtures");
    let traces = fixtures.iter().filter_map(|f| f.strip_prefix("tests/fixtures/")).filter(|f| f.ends_with(".jsonl"));
    let mut published = 0;
    for name in traces {
        let bundle = format!("b-{name}");
        assert_eq!(world.report(&fixture(name), &bundle, &[]).code, Some(0), "{name}");
        // Deriving again costs as much as publishing: a few stand for all.
        let semantic: &[&str] = if published < 2 { &["--semantic"] } else { &[] };
        assert_eq!(world.verify(&bundle, semantic).code, Some(0), "{name}");
        published += 1;
    }
    let mut failed = Lines::sound();
    *failed.terminal() = json!({"kind": "terminal", "outcome": "failed", "timestamp_ns": 1000, "reason": "no memory"});
    let failed = world.write("failed.jsonl", failed.text());
    assert_eq!(world.report(&failed, "failed", &[]).code, Some(0));
    assert_eq!(world.verify("failed", &["--semantic"]).code, Some(0));
    assert!(std::fs::read_to_string(world.path("failed/report.md")).expect("a page").contains("no memory"));
    assert!(!world.path("failed/tables/span_times.parquet").exists(), "no ranking of a failed capture");
    let cut = Lines::sound().text().lines().take(8).map(|l| format!("{l}\n")).collect::<String>();
    let cut = world.write("cut.jsonl", cut);
    assert_eq!(world.report(&cut, "cut", &["--salvage"]).code, Some(0));
    assert_eq!(world.verify("cut", &["--semantic"]).code, Some(0));
    assert!(published > 3);
}
