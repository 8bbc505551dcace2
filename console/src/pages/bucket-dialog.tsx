// The form of a bucket: all settings of a new one, the changeable ones of an existing one.
import { useState } from 'preact/hooks';
import { type ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket } from '../api/types.ts';
import { Checkbox, Field, Select } from '../kit/controls.tsx';
import { FormDialog } from '../kit/dialog.tsx';

const mib = 1024 * 1024;

export function BucketDialog({ bucket, onClose }: { bucket?: Bucket; onClose: () => void }) {
  const [name, setName] = useState(bucket?.name ?? '');
  const [type, setType] = useState('couchbase');
  const [ramQuotaMB, setQuota] = useState(String((bucket?.quota.rawRAM ?? 256 * mib) / mib));
  const [replicaNumber, setReplicas] = useState(String(bucket?.replicaNumber ?? 0));
  const [compressionMode, setCompression] = useState(bucket?.compressionMode ?? 'passive');
  const [maxTTL, setMaxTtl] = useState(String(bucket?.maxTTL ?? 0));
  const [flush, setFlush] = useState(bucket?.controllers.flush !== undefined);
  const [problem, setProblem] = useState<ApiError>();
  const problemOf = (field: string) => problem?.fields[field];
  const stores = bucket ? bucket.bucketType !== 'memcached' : type !== 'memcached';
  const submit = async () => {
    const common = {
      ramQuotaMB,
      flushEnabled: flush ? 1 : 0,
      ...(stores && { replicaNumber, compressionMode, maxTTL }),
    };
    if (bucket) await call(routes.changeBucket, { path: { bucket: bucket.name }, form: common });
    else await call(routes.createBucket, { form: { name, bucketType: type, ...common } });
  };
  return (
    <FormDialog
      title={bucket ? `Edit ${bucket.name}` : 'Create a bucket'}
      action={bucket ? 'Save' : 'Create'}
      onSubmit={submit}
      onProblem={setProblem}
      onClose={onClose}
    >
      {!bucket && (
        <>
          <Field label="Bucket name" value={name} onInput={setName} required problem={problemOf('name')} />
          <Select
            label="Type"
            value={type}
            onChange={setType}
            problem={problemOf('bucketType')}
            options={[
              ['couchbase', 'Native: in memory and on disk'],
              ['ephemeral', 'Ephemeral: in memory only'],
              ['memcached', 'Cache'],
            ]}
          />
        </>
      )}
      <Field
        label="Memory quota in MiB for each node"
        type="number"
        value={ramQuotaMB}
        onInput={setQuota}
        required
        problem={problemOf('ramQuota') ?? problemOf('ramQuotaMB')}
      />
      {stores && (
        <>
          <Select
            label="Copies on other nodes"
            value={replicaNumber}
            onChange={setReplicas}
            options={['0', '1', '2', '3']}
            problem={problemOf('replicaNumber')}
          />
          <Select
            label="Compression"
            value={compressionMode}
            onChange={setCompression}
            options={['off', 'passive', 'active']}
            problem={problemOf('compressionMode')}
          />
          <Field
            label="Longest life of documents in seconds"
            type="number"
            value={maxTTL}
            onInput={setMaxTtl}
            hint="0: documents live until they are deleted or expire."
            problem={problemOf('maxTTL')}
          />
        </>
      )}
      <Checkbox label="Allow flushing all documents" checked={flush} onChange={setFlush} />
    </FormDialog>
  );
}
