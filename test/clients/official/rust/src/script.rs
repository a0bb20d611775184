use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::AuthInfo;
use kube::core::{GroupVersionKind, Status};
use kube::discovery::{Discovery, Scope};
use kube::{Api, Client, Config, ResourceExt};
use secrecy::SecretString;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

use crate::informer::{Change, Informer};

pub type Outcome = Result<(), Box<dyn Error>>;
type Data = BTreeMap<String, String>;

pub struct Script {
    config: Config,
    client: Client,
    namespace: String,
    config_maps: Api<ConfigMap>,
    accounts: Api<ServiceAccount>,
    created: ConfigMap,
    informer: Option<Informer>,
}

impl Script {
    pub async fn new() -> Result<Self, Box<dyn Error>> {
        let namespace = std::env::var("NAMESPACE")?;
        let config = Config::infer().await?;
        let client = Client::try_from(config.clone())?;
        Ok(Script {
            config_maps: Api::namespaced(client.clone(), &namespace),
            accounts: Api::namespaced(client.clone(), &namespace),
            created: ConfigMap::default(),
            informer: None,
            config,
            client,
            namespace,
        })
    }

    pub async fn discovery(&mut self) -> Outcome {
        let version = self.client.apiserver_version().await?;
        equal((version.major.as_str(), version.minor.as_str()), ("1", "32"))?;
        let discovery = Discovery::new(self.client.clone()).run_aggregated().await?;
        let group = discovery.get("coordination.k8s.io").ok_or("no group coordination.k8s.io")?;
        equal(group.preferred_version(), Some("v1"))?;
        let kind = GroupVersionKind::gvk("", "v1", "ConfigMap");
        let (resource, capabilities) = discovery.resolve_gvk(&kind).ok_or("no kind ConfigMap")?;
        equal(resource.plural.as_str(), "configmaps")?;
        equal(capabilities.scope, Scope::Namespaced)
    }

    pub async fn create(&mut self) -> Outcome {
        self.created = self.create_config_map("settings", &[("a", "1"), ("b", "2")], &[]).await?;
        equal(self.created.data.clone(), Some(map(&[("a", "1"), ("b", "2")])))?;
        check(self.created.uid().is_some_and(|uid| !uid.is_empty()), "no uid")?;
        check(self.created.resource_version().is_some_and(|version| !version.is_empty()), "no resourceVersion")
    }

    pub async fn get(&mut self) -> Outcome {
        let read = self.config_maps.get("settings").await?;
        equal(read.uid(), self.created.uid())?;
        equal(read.data, self.created.data.clone())
    }

    pub async fn update(&mut self) -> Outcome {
        let mut read = self.config_maps.get("settings").await?;
        read.data.get_or_insert_default().insert("a".into(), "changed".into());
        let updated = self.config_maps.replace("settings", &PostParams::default(), &read).await?;
        equal(updated.uid(), self.created.uid())?;
        check(updated.resource_version() != self.created.resource_version(), "the same resourceVersion")?;
        equal(updated.data, Some(map(&[("a", "changed"), ("b", "2")])))
    }

    pub async fn conflict(&mut self) -> Outcome {
        let mut stale = self.created.clone();
        stale.data = Some(map(&[("a", "stale")]));
        let answer = self.config_maps.replace("settings", &PostParams::default(), &stale).await;
        refused(answer, 409, "Conflict")?;
        let read = self.config_maps.get("settings").await?;
        equal(read.data, Some(map(&[("a", "changed"), ("b", "2")])))
    }

    pub async fn patch(&mut self) -> Outcome {
        let merge = Patch::Merge(json!({ "data": { "c": "3", "b": null } }));
        let patched = self.config_maps.patch("settings", &PatchParams::default(), &merge).await?;
        equal(patched.data, Some(map(&[("a", "changed"), ("c", "3")])))?;
        let mut account = self.create_account("patched").await?;
        for secret in ["one", "two"] {
            let strategic = Patch::Strategic(json!({ "secrets": [{ "name": secret }] }));
            account = self.accounts.patch("patched", &PatchParams::default(), &strategic).await?;
        }
        let mut secrets: Vec<_> = account.secrets.into_iter().flatten().filter_map(|secret| secret.name).collect();
        secrets.sort();
        equal(secrets, vec!["one".to_owned(), "two".to_owned()])
    }

    pub async fn apply(&mut self) -> Outcome {
        let first = self.apply_as(&PatchParams::apply("first"), "1").await?;
        let by_first = |entry: &_| entry_of(entry) == (Some("first"), Some("Apply"));
        check(first.managed_fields().iter().any(by_first), "no managedFields of first")?;
        refused(self.apply_as(&PatchParams::apply("second"), "2").await, 409, "Conflict")?;
        let forced = self.apply_as(&PatchParams::apply("second").force(), "2").await?;
        equal(forced.data, Some(map(&[("owner", "2")])))
    }

    pub async fn list(&mut self) -> Outcome {
        for (name, colour) in [("red-1", "red"), ("red-2", "red"), ("blue", "blue")] {
            self.create_config_map(name, &[], &[("colour", colour)]).await?;
        }
        let found = self.config_maps.list(&ListParams::default().labels("colour=red")).await?;
        let mut names: Vec<_> = found.iter().map(ResourceExt::name_any).collect();
        names.sort();
        equal(names, vec!["red-1".to_owned(), "red-2".to_owned()])
    }

    pub async fn pagination(&mut self) -> Outcome {
        let expected: Vec<_> = (0..250).map(|index| format!("page-{index:03}")).collect();
        for name in &expected {
            self.create_config_map(name, &[], &[("paged", "yes")]).await?;
        }
        let mut params = ListParams::default().labels("paged=yes").limit(100);
        let (mut sizes, mut names) = (Vec::new(), Vec::new());
        loop {
            let page = self.config_maps.list(&params).await?;
            sizes.push(page.items.len());
            names.extend(page.iter().map(ResourceExt::name_any));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => break,
            }
        }
        equal(sizes, vec![100, 100, 50])?;
        names.sort();
        equal(names, expected)
    }

    pub async fn watch(&mut self) -> Outcome {
        let informer = self.informer.insert(Informer::start(self.config_maps.clone()));
        let object = config_map("watched", &[("step", "1")], &[]);
        self.config_maps.create(&PostParams::default(), &object).await?;
        let added = informer.wait_for(Change::Applied, "watched").await?;
        equal(added.data, object.data)?;
        let change = Patch::Merge(json!({ "data": { "step": "2" } }));
        self.config_maps.patch("watched", &PatchParams::default(), &change).await?;
        let modified = informer.wait_for(Change::Applied, "watched").await?;
        equal(modified.data, Some(map(&[("step", "2")])))?;
        self.config_maps.delete("watched", &DeleteParams::default()).await?;
        informer.wait_for(Change::Deleted, "watched").await?;
        Ok(())
    }

    pub async fn token_request(&mut self) -> Outcome {
        self.create_account("caller").await?;
        let request = TokenRequest {
            spec: TokenRequestSpec { expiration_seconds: Some(600), ..Default::default() },
            ..Default::default()
        };
        let answer = self.accounts.create_token_request("caller", &PostParams::default(), &request).await?;
        let token = answer.status.ok_or("no status")?.token;
        let mut config = self.config.clone();
        config.auth_info = AuthInfo { token: Some(SecretString::from(token)), ..Default::default() };
        let reviews: Api<SelfSubjectReview> = Api::all(Client::try_from(config)?);
        let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
        let user = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
        equal(user, Some(format!("system:serviceaccount:{}:caller", self.namespace)))
    }

    pub async fn access_review(&mut self) -> Outcome {
        let attributes = ResourceAttributes {
            namespace: Some(self.namespace.clone()),
            verb: Some("get".into()),
            resource: Some("configmaps".into()),
            ..Default::default()
        };
        let own = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes.clone()), ..Default::default() },
            ..Default::default()
        };
        let own = Api::all(self.client.clone()).create(&PostParams::default(), &own).await?;
        check(own.status.is_some_and(|status| status.allowed), "the administrator is not allowed")?;
        let other = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                resource_attributes: Some(attributes),
                user: Some("stranger".into()),
                ..Default::default()
            },
            ..Default::default()
        };
        let other = Api::all(self.client.clone()).create(&PostParams::default(), &other).await?;
        check(other.status.is_some_and(|status| !status.allowed), "a stranger is allowed")
    }

    pub async fn restart(&mut self) -> Outcome {
        let line = BufReader::new(stdin()).lines().next_line().await?.ok_or("nothing to read")?;
        let name = line.strip_prefix("restarted ").ok_or("read another word")?;
        let informer = self.informer.as_mut().ok_or("no informer")?;
        informer.wait_for(Change::Applied, name).await?;
        self.config_maps.get(name).await?;
        Ok(())
    }

    pub async fn delete(&mut self) -> Outcome {
        self.config_maps.delete("settings", &DeleteParams::default()).await?;
        refused(self.config_maps.get("settings").await, 404, "NotFound")?;
        Ok(())
    }

    pub async fn errors(&mut self) -> Outcome {
        let status = refused(self.create_config_map("Not_A_Name", &[], &[]).await, 422, "Invalid")?;
        let causes = status.details.map(|details| details.causes).unwrap_or_default();
        check(causes.iter().any(|cause| cause.field == "metadata.name"), "no cause with the field metadata.name")
    }

    async fn create_config_map(
        &self,
        name: &str,
        data: &[(&str, &str)],
        labels: &[(&str, &str)],
    ) -> kube::Result<ConfigMap> {
        self.config_maps.create(&PostParams::default(), &config_map(name, data, labels)).await
    }

    async fn create_account(&self, name: &str) -> kube::Result<ServiceAccount> {
        let metadata = ObjectMeta { name: Some(name.into()), ..Default::default() };
        let account = ServiceAccount { metadata, ..Default::default() };
        self.accounts.create(&PostParams::default(), &account).await
    }

    async fn apply_as(&self, params: &PatchParams, owner: &str) -> kube::Result<ConfigMap> {
        let object = config_map("applied", &[("owner", owner)], &[]);
        self.config_maps.patch("applied", params, &Patch::Apply(&object)).await
    }
}

fn map(entries: &[(&str, &str)]) -> Data {
    entries.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn config_map(name: &str, data: &[(&str, &str)], labels: &[(&str, &str)]) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.into()), labels: Some(map(labels)), ..Default::default() },
        data: Some(map(data)),
        ..Default::default()
    }
}

fn entry_of(
    entry: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
) -> (Option<&str>, Option<&str>) {
    (entry.manager.as_deref(), entry.operation.as_deref())
}

fn check(holds: bool, what: &str) -> Outcome {
    if holds { Ok(()) } else { Err(what.into()) }
}

fn equal<T: Debug + PartialEq>(actual: T, expected: T) -> Outcome {
    if actual == expected { Ok(()) } else { Err(format!("{actual:?} is not {expected:?}").into()) }
}

/// The Status of an answer that must be this refusal.
fn refused<T>(answer: kube::Result<T>, code: u16, reason: &str) -> Result<Status, Box<dyn Error>> {
    match answer {
        Err(kube::Error::Api(status)) => {
            equal((status.code, status.reason.as_str()), (code, reason))?;
            Ok(*status)
        }
        Err(other) => Err(other.into()),
        Ok(_) => Err(format!("not refused with {code} {reason}").into()),
    }
}
