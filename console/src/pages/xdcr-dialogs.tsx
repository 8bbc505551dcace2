// The forms of a reference to another cluster and of a replication.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket } from '../api/types.ts';
import { Checkbox, Field, Select } from '../kit/controls.tsx';
import { Dialog, FormDialog } from '../kit/dialog.tsx';
import { Loaded, Problem } from '../kit/notices.tsx';
import { useForm } from '../kit/use-form.ts';
import { useResource } from '../kit/use-resource.ts';

export interface Reference {
  readonly name: string;
  readonly hostname: string;
  readonly username: string;
  readonly secureType: string;
  readonly certificate?: string;
  readonly uuid: string;
  readonly connectivityStatus?: string;
  readonly demandEncryption: boolean;
}

/** Adds or changes a reference; a change sends all fields again. */
export function ReferenceDialog({ reference, onClose }: { reference?: Reference; onClose: () => void }) {
  const form = useForm({
    name: reference?.name ?? '',
    hostname: reference?.hostname ?? '',
    username: reference?.username ?? '',
    password: '',
    secureType: reference?.secureType ?? 'none',
    certificate: reference?.certificate ?? '',
  });
  const { certificate, ...fields } = form.values;
  const isSecure = fields.secureType !== 'none';
  const sent = { ...fields, ...(isSecure && { certificate }) };
  const save = () =>
    reference
      ? call(routes.changeRemoteCluster, { path: { name: reference.name }, form: sent })
      : call(routes.addRemoteCluster, { form: sent });
  return (
    <FormDialog
      title={reference ? `Edit ${reference.name}` : 'Add a cluster'}
      action={reference ? 'Save' : 'Add'}
      form={form}
      onClose={onClose}
      onSubmit={save}
    >
      <Field label="Cluster name" {...form.text('name')} required />
      <Field
        label="Address of one of its nodes"
        {...form.text('hostname')}
        required
        hint="For example 10.0.0.9:8091"
      />
      <Field label="User of that cluster" {...form.text('username')} required />
      <Field label="Password of that user" type="password" {...form.text('password')} required />
      <Select
        label="Encryption"
        {...form.choice('secureType')}
        options={[
          ['none', 'none'],
          ['half', 'of the password'],
          ['full', 'of everything'],
        ]}
      />
      {isSecure && (
        <Field
          label="Certificate of its authority"
          {...form.text('certificate')}
          rows={5}
          mono
          required
          hint="As PEM: GET /pools/default/certificate of that cluster answers with it."
        />
      )}
    </FormDialog>
  );
}

interface ReplicationDialogProps {
  readonly clusters: readonly string[];
  readonly onClose: () => void;
}

export function ReplicationDialog({ clusters, onClose }: ReplicationDialogProps) {
  const buckets = useResource((signal) => call<Bucket[]>(routes.buckets, { signal }));
  const names = buckets.data?.map(({ name }) => name) ?? [];
  const form = useForm({ fromBucket: '', toCluster: clusters[0] ?? '', toBucket: '', filterExpression: '' });
  const fromBucket = form.values.fromBucket || (names[0] ?? '');
  const start = () => {
    const { toCluster, toBucket, filterExpression } = form.values;
    const filter = filterExpression === '' ? {} : { filterExpression };
    return call(routes.createReplication, {
      form: { fromBucket, toCluster, toBucket, replicationType: 'continuous', ...filter },
    });
  };
  return (
    <FormDialog
      title="Replicate a bucket"
      action="Start"
      form={form}
      disabled={fromBucket === ''}
      onClose={onClose}
      onSubmit={start}
    >
      <Problem problem={buckets.problem} />
      <Select label="Bucket" {...form.choice('fromBucket')} value={fromBucket} options={names} />
      <Select label="To the cluster" {...form.choice('toCluster')} options={clusters} />
      <Field label="Bucket there" {...form.text('toBucket')} required />
      <Field
        label="Filter expression"
        {...form.text('filterExpression')}
        mono
        hint="Empty: all documents are sent."
      />
    </FormDialog>
  );
}

interface ReplicationSettings {
  readonly filterExpression: string;
  readonly priority: string;
  readonly compressionType: string;
  readonly networkUsageLimit: number;
  readonly checkpointInterval: number;
  readonly filterDeletion: boolean;
  readonly filterExpiration: boolean;
}

interface ReplicationSettingsDialogProps {
  readonly id: string;
  readonly onClose: () => void;
}

export function ReplicationSettingsDialog({ id, onClose }: ReplicationSettingsDialogProps) {
  const settings = useResource((signal) =>
    call<ReplicationSettings>(routes.replication, { path: { replication: id }, signal }),
  );
  if (!settings.data)
    return (
      <Dialog title="Settings of the replication" onClose={onClose}>
        <Loaded from={settings}>{() => null}</Loaded>
      </Dialog>
    );
  return <ReplicationForm id={id} settings={settings.data} onClose={onClose} />;
}

interface ReplicationFormProps extends ReplicationSettingsDialogProps {
  readonly settings: ReplicationSettings;
}

function ReplicationForm({ id, settings, onClose }: ReplicationFormProps) {
  const form = useForm({
    filterExpression: settings.filterExpression,
    filterSkipRestream: true,
    priority: settings.priority,
    compressionType: settings.compressionType,
    networkUsageLimit: String(settings.networkUsageLimit),
    checkpointInterval: String(settings.checkpointInterval),
    filterDeletion: settings.filterDeletion,
    filterExpiration: settings.filterExpiration,
  });
  const { filterExpression, filterSkipRestream, ...others } = form.values;
  const isFilterChanged = filterExpression !== settings.filterExpression;
  const filter = isFilterChanged ? { filterExpression, filterSkipRestream } : {};
  return (
    <FormDialog
      title="Settings of the replication"
      action="Save"
      form={form}
      onClose={onClose}
      onSubmit={() =>
        call(routes.changeReplication, { path: { replication: id }, form: { ...others, ...filter } })
      }
    >
      <Field
        label="Filter expression"
        {...form.text('filterExpression')}
        mono
        hint="Empty: all documents are sent."
      />
      {isFilterChanged && (
        <Checkbox
          label="Use the new filter for later changes only, without starting again"
          {...form.flag('filterSkipRestream')}
        />
      )}
      <Select label="Priority" {...form.choice('priority')} options={['High', 'Medium', 'Low']} />
      <Select label="Compression" {...form.choice('compressionType')} options={['Auto', 'None']} />
      <Field
        label="Network limit in MiB a second"
        type="number"
        {...form.text('networkUsageLimit')}
        hint="0: no limit."
      />
      <Field label="Seconds between checkpoints" type="number" {...form.text('checkpointInterval')} />
      <Checkbox label="Do not send deletions" {...form.flag('filterDeletion')} />
      <Checkbox label="Do not send expirations" {...form.flag('filterExpiration')} />
    </FormDialog>
  );
}
