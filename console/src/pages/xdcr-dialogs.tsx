// The forms of a reference to another cluster and of a replication.
import { useState } from 'preact/hooks';
import { type ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket } from '../api/types.ts';
import { Field, Select } from '../kit/controls.tsx';
import { FormDialog } from '../kit/dialog.tsx';
import { useResource } from '../kit/use-resource.ts';

export function ReferenceDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [hostname, setHostname] = useState('');
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState<ApiError>();
  return (
    <FormDialog
      title="Add a cluster"
      action="Add"
      onClose={onClose}
      onProblem={setProblem}
      onSubmit={async () => {
        await call(routes.addRemoteCluster, { form: { name, hostname, username, password } });
      }}
    >
      <Field label="Cluster name" value={name} onInput={setName} required problem={problem?.fields['name']} />
      <Field
        label="Address of one of its nodes"
        value={hostname}
        onInput={setHostname}
        required
        hint="For example 10.0.0.9:8091"
        problem={problem?.fields['hostname']}
      />
      <Field
        label="User there"
        value={username}
        onInput={setUsername}
        required
        problem={problem?.fields['username']}
      />
      <Field
        label="Password there"
        type="password"
        value={password}
        onInput={setPassword}
        required
        problem={problem?.fields['password']}
      />
    </FormDialog>
  );
}

export function ReplicationDialog({
  clusters,
  onClose,
}: {
  clusters: readonly string[];
  onClose: () => void;
}) {
  const buckets = useResource((signal) => call<Bucket[]>(routes.buckets, { signal }));
  const names = buckets.data?.map(({ name }) => name) ?? [];
  const [from, setFrom] = useState<string>();
  const [toCluster, setCluster] = useState(clusters[0] ?? '');
  const [toBucket, setBucket] = useState('');
  const [filterExpression, setFilter] = useState('');
  const [problem, setProblem] = useState<ApiError>();
  const fromBucket = from ?? names[0] ?? '';
  return (
    <FormDialog
      title="Replicate a bucket"
      action="Start"
      onClose={onClose}
      onProblem={setProblem}
      onSubmit={async () => {
        const filter = filterExpression === '' ? {} : { filterExpression };
        await call(routes.createReplication, {
          form: { fromBucket, toCluster, toBucket, replicationType: 'continuous', ...filter },
        });
      }}
    >
      <Select
        label="Bucket"
        value={fromBucket}
        options={names}
        onChange={setFrom}
        problem={problem?.fields['fromBucket']}
      />
      <Select label="To the cluster" value={toCluster} options={clusters} onChange={setCluster} />
      <Field
        label="Bucket there"
        value={toBucket}
        onInput={setBucket}
        required
        problem={problem?.fields['toBucket']}
      />
      <Field
        label="Filter expression"
        value={filterExpression}
        onInput={setFilter}
        mono
        hint="Empty: all documents are sent."
        problem={problem?.fields['filterExpression']}
      />
    </FormDialog>
  );
}
