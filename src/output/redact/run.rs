//! The texts of a run record.
//! In: a record. Out: each text that may hold something private, to read or to replace, the gradient manifest's digest
//! kept right. Left to neighbours: its tags and its host name, which go by rules of their own (`mod`).

use candle_graph_record::GradientContract;
use candle_graph_record::tables::run::RunRecord;

use super::columns::is_device;

/// Hands over each text of `run` but its id, its host name and its tags.
pub(super) fn each_text(run: &mut RunRecord, each: &mut dyn FnMut(&mut String)) {
    each(&mut run.correlation_id);
    each(&mut run.entrypoint);
    if !is_device(&run.device) {
        each(&mut run.device);
    }
    let host = &mut run.host;
    let facts = [
        &mut run.reason,
        &mut run.candle_graph_version,
        &mut host.os,
        &mut host.cpu_model,
        &mut host.toolchain,
        &mut host.build_profile,
        &mut host.candle_version,
        &mut host.git_revision,
    ];
    facts.into_iter().flatten().for_each(&mut *each);
    if let Some(identity) = &mut run.identity {
        [&mut identity.implementation_id, &mut identity.pair_id].into_iter().flatten().for_each(&mut *each);
        [
            &mut identity.workload_id,
            &mut identity.model_id,
            &mut identity.config_id,
            &mut identity.data_id,
            &mut identity.seed_policy,
            &mut identity.precision,
            &mut identity.device_state,
        ]
        .into_iter()
        .for_each(&mut *each);
    }
    let contract = &mut run.contract;
    [
        &mut contract.required_semantic_labels,
        &mut contract.gpu_expected_semantic_labels,
        &mut contract.cpu_only_semantic_labels,
    ]
    .into_iter()
    .flatten()
    .for_each(&mut *each);
    if let Some(gradients) = &mut contract.gradient_contract {
        each_of_manifest(gradients, each);
    }
}

fn each_of_manifest(contract: &mut GradientContract, each: &mut dyn FnMut(&mut String)) {
    let (mut expected, mut families) = (contract.expected().to_vec(), contract.families().to_vec());
    expected.iter_mut().flat_map(|e| [&mut e.root, &mut e.key, &mut e.family]).for_each(&mut *each);
    families.iter_mut().for_each(|f| each(&mut f.family));
    let stated = contract.stated_digest();
    let right = stated == contract.digest();
    let mut now_stated = stated.clone();
    if !right {
        // It stays wrong: a redaction mends nothing.
        each(&mut now_stated);
    }
    if expected == contract.expected() && families == contract.families() && stated == now_stated {
        return;
    }
    if right {
        now_stated = GradientContract::unchecked(expected.clone(), Vec::new(), None).digest();
    }
    *contract = GradientContract::unchecked(expected, families, Some(now_stated));
}
