// The form of a bucket: all settings of a new one, the changeable ones of an existing one.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket } from '../api/types.ts';
import { Checkbox, Field, Select } from '../kit/controls.tsx';
import { FormDialog } from '../kit/dialog.tsx';
import { useForm } from '../kit/use-form.ts';

const mib = 1024 * 1024;

const valuesOf = (bucket: Bucket | undefined) => ({
  name: bucket?.name ?? '',
  bucketType: 'couchbase',
  ramQuotaMB: String((bucket?.quota.rawRAM ?? 256 * mib) / mib),
  replicaNumber: String(bucket?.replicaNumber ?? 0),
  compressionMode: bucket?.compressionMode ?? 'passive',
  maxTTL: String(bucket?.maxTTL ?? 0),
  flush: bucket?.controllers.flush !== undefined,
});

export function BucketDialog({ bucket, onClose }: { bucket?: Bucket; onClose: () => void }) {
  const form = useForm(valuesOf(bucket));
  const { name, bucketType, ramQuotaMB, replicaNumber, compressionMode, maxTTL, flush } = form.values;
  const isDocumentBucket = (bucket?.bucketType ?? bucketType) !== 'memcached';
  const submit = () => {
    const common = {
      ramQuotaMB,
      flushEnabled: flush ? 1 : 0,
      ...(isDocumentBucket && { replicaNumber, compressionMode, maxTTL }),
    };
    if (bucket) return call(routes.changeBucket, { path: { bucket: bucket.name }, form: common });
    return call(routes.createBucket, { form: { name, bucketType, ...common } });
  };
  return (
    <FormDialog
      title={bucket ? `Edit ${bucket.name}` : 'Create a bucket'}
      action={bucket ? 'Save' : 'Create'}
      form={form}
      onSubmit={submit}
      onClose={onClose}
    >
      {!bucket && (
        <>
          <Field label="Bucket name" {...form.text('name')} required />
          <Select
            label="Type"
            {...form.choice('bucketType')}
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
        {...form.text('ramQuotaMB')}
        required
        problem={form.problemOf('ramQuota') ?? form.problemOf('ramQuotaMB')}
      />
      {isDocumentBucket && (
        <>
          <Select
            label="Copies on other nodes"
            {...form.choice('replicaNumber')}
            options={['0', '1', '2', '3']}
          />
          <Select
            label="Compression"
            {...form.choice('compressionMode')}
            options={['off', 'passive', 'active']}
          />
          <Field
            label="Longest life of documents in seconds"
            type="number"
            {...form.text('maxTTL')}
            hint="0: documents live until they are deleted or expire."
          />
        </>
      )}
      <Checkbox label="Allow flushing all documents" {...form.flag('flush')} />
    </FormDialog>
  );
}
