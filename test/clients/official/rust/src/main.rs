//! The script of ../../README.md with the Rust client: a line of JSON for each step.

mod informer;
mod script;

use std::process::ExitCode;

use script::{Outcome, Script};
use serde_json::json;

const STEPS: [&str; 16] = [
    "discovery",
    "create",
    "get",
    "update",
    "conflict",
    "patch",
    "apply",
    "list",
    "pagination",
    "watch",
    "token-request",
    "access-review",
    "ready-for-restart",
    "restart",
    "delete",
    "errors",
];

async fn run(script: &mut Script, step: &str) -> Outcome {
    match step {
        "discovery" => script.discovery().await,
        "create" => script.create().await,
        "get" => script.get().await,
        "update" => script.update().await,
        "conflict" => script.conflict().await,
        "patch" => script.patch().await,
        "apply" => script.apply().await,
        "list" => script.list().await,
        "pagination" => script.pagination().await,
        "watch" => script.watch().await,
        "token-request" => script.token_request().await,
        "access-review" => script.access_review().await,
        "ready-for-restart" => Ok(()),
        "restart" => script.restart().await,
        "delete" => script.delete().await,
        "errors" => script.errors().await,
        unknown => Err(format!("no step {unknown}").into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut script = Script::new().await?;
    for step in STEPS {
        match run(&mut script, step).await {
            Ok(()) => println!("{}", json!({ "step": step, "ok": true })),
            Err(error) => {
                println!("{}", json!({ "step": step, "ok": false, "error": error.to_string() }));
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
