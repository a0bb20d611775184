//! A watcher in a task of its own, and a wait for what it tells.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

const WAIT: Duration = Duration::from_secs(30);

/// The client does not tell objects that are new from those that changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    Applied,
    Deleted,
}

pub struct Informer {
    told: mpsc::UnboundedReceiver<(Change, ConfigMap)>,
}

impl Informer {
    pub fn start(api: Api<ConfigMap>) -> Self {
        let (sender, told) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
            while let Some(event) = events.next().await {
                let change = match event {
                    Ok(Event::Apply(object) | Event::InitApply(object)) => (Change::Applied, object),
                    Ok(Event::Delete(object)) => (Change::Deleted, object),
                    Ok(Event::Init | Event::InitDone) => continue,
                    Err(error) => {
                        eprintln!("{error}");
                        continue;
                    }
                };
                if sender.send(change).is_err() {
                    return;
                }
            }
        });
        Informer { told }
    }

    /// Reads on to the change of this object; waits asked for one after the other must come in this order.
    pub async fn wait_for(&mut self, change: Change, name: &str) -> Result<ConfigMap, String> {
        let found = timeout(WAIT, async {
            loop {
                match self.told.recv().await {
                    Some((told, object)) if told == change && object.name_any() == name => return Some(object),
                    Some(_) => {}
                    None => return None,
                }
            }
        });
        let missing = || format!("the watcher did not tell of {name} {change:?}");
        found.await.map_err(|_| missing())?.ok_or_else(missing)
    }
}
