//! Starts a test environment by the crate envtest, and does the script of ../../README.md in it.

use std::error::Error;
use std::process::ExitCode;

use envtest::{BinaryAssetsSettings, Environment, Server};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions};
use kube::{Api, Client, Config};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, definition, folder] = arguments.as_slice() else {
        panic!("expected the file of a definition, and the folder of the programs");
    };
    let Some(server) = report("start", start(definition, folder).await) else {
        return ExitCode::FAILURE;
    };
    let succeeded = script(&server).await;
    let stopped = server.destroy().await.map_err(Into::into);
    let stopped = stopped.and_then(|()| ensure(!server.exist(), "it is there still"));
    if succeeded && report("stop", stopped).is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn report<T>(step: &str, outcome: Result<T, Box<dyn Error>>) -> Option<T> {
    match outcome {
        Ok(value) => {
            println!("ok {step}");
            Some(value)
        }
        Err(error) => {
            println!("failed {step}: {error}");
            None
        }
    }
}

fn ensure(is_right: bool, problem: &str) -> Outcome {
    if is_right { Ok(()) } else { Err(problem.into()) }
}

/// The library installs definitions when it starts.
async fn start(definition: &str, folder: &str) -> Result<Server, Box<dyn Error>> {
    let environment = Environment {
        binary_assets_settings: BinaryAssetsSettings {
            download_binary_assets: false,
            binary_assets_directory: Some(folder.to_owned()),
            ..Default::default()
        },
        ..Default::default()
    };
    let environment = environment.with_crds_from_paths(vec![definition.to_owned()])?;
    Ok(environment.create().await?)
}

async fn script(server: &Server) -> bool {
    let client = match server.client() {
        Ok(client) => client,
        Err(error) => return report::<()>("client", Err(error.into())).is_some(),
    };
    report("definition", definition(&client).await).is_some()
        && report("custom", custom(&client).await).is_some()
        && report("deployment", deployment(&client).await).is_some()
        && report("user", user(server, &client).await).is_some()
}

async fn definition(client: &Client) -> Outcome {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let read = definitions.get("widgets.example.org").await?;
    let conditions = read.status.and_then(|status| status.conditions).unwrap_or_default();
    let is_established =
        conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True");
    ensure(is_established, "it is not established")
}

/// Creates, changes, reads and deletes an object of the kind that was installed.
async fn custom(client: &Client) -> Outcome {
    let resource = ApiResource {
        group: "example.org".into(),
        version: "v1".into(),
        api_version: "example.org/v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
    };
    let widgets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    let widget = |size: Value| DynamicObject::new("one", &resource).data(json!({ "spec": { "size": size } }));
    let mut made = widgets.create(&PostParams::default(), &widget(json!(1))).await?;
    made.data["spec"]["size"] = json!(2);
    widgets.replace("one", &PostParams::default(), &made).await?;
    let read = widgets.get("one").await?;
    ensure(read.data["spec"]["size"] == json!(2), "the size was not changed")?;
    widgets.delete("one", &DeleteParams::default()).await?;
    ensure(widgets.get_opt("one").await?.is_none(), "it is there after the deletion")?;
    refused(422, widgets.create(&PostParams::default(), &widget(json!("large"))).await)
}

async fn deployment(client: &Client) -> Outcome {
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let labels = json!({ "app": "web" });
    let web = json!({
        "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
            },
        },
    });
    let made = deployments.create(&PostParams::default(), &typed(web)?).await?;
    let replicas = made.spec.and_then(|spec| spec.replicas);
    ensure(replicas == Some(1), "it has no default of replicas")?;
    deployments.delete("web", &DeleteParams::default()).await?;
    Ok(())
}

/// A service account, since the library adds no users: it may do nothing, and then what a role allows.
async fn user(server: &Server, client: &Client) -> Outcome {
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
    accounts.create(&PostParams::default(), &typed(json!({ "metadata": { "name": "jane" } }))?).await?;
    let answer = accounts.create_token_request("jane", &PostParams::default(), &TokenRequest::default()).await?;
    let mut config = Config::from_custom_kubeconfig(server.kubeconfig()?, &KubeConfigOptions::default()).await?;
    let token = answer.status.and_then(|status| status.token).ok_or("no token was issued")?;
    config.auth_info = AuthInfo { token: Some(SecretString::from(token)), ..Default::default() };
    let own: Api<ConfigMap> = Api::default_namespaced(Client::try_from(config)?);
    refused(403, own.list(&ListParams::default()).await)?;
    let role = json!({
        "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"] }],
    });
    let binding = json!({
        "metadata": { "name": "readers" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
        "subjects": [{ "kind": "ServiceAccount", "name": "jane", "namespace": "default" }],
    });
    let roles: Api<Role> = Api::default_namespaced(client.clone());
    roles.create(&PostParams::default(), &typed(role)?).await?;
    let bindings: Api<RoleBinding> = Api::default_namespaced(client.clone());
    bindings.create(&PostParams::default(), &typed(binding)?).await?;
    own.list(&ListParams::default()).await?;
    Ok(())
}

fn typed<T: DeserializeOwned>(object: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(object)
}

fn refused<T>(code: u16, answer: Result<T, kube::Error>) -> Outcome {
    match answer {
        Ok(_) => Err(format!("{code} was expected").into()),
        Err(kube::Error::Api(status)) if status.code == code => Ok(()),
        Err(error) => Err(error.into()),
    }
}
