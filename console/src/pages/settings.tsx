// Settings of the cluster: name and memory, automatic failover, compaction, passwords, TLS and the console itself.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiError, call } from '../api/client.ts';
import { type Call, routes } from '../api/routes.ts';
import type { Cluster } from '../api/types.ts';
import { Button, Checkbox, Field, Select } from '../kit/controls.tsx';
import { Loaded, Page, Problem } from '../kit/notices.tsx';
import { type Resource, useAction, useResource } from '../kit/use-resource.ts';

export function Content() {
  return (
    <Page title="Settings">
      <ClusterForm />
      <FailoverForm />
      <CompactionForm />
      <PasswordForm />
      <SecurityForm />
    </Page>
  );
}

interface SettingsProps<T> {
  readonly title: string;
  readonly read: Call;
  readonly children: (loaded: T, reload: () => void) => ComponentChildren;
}

function Settings<T>({ title, read, children }: SettingsProps<T>) {
  const loaded: Resource<T> = useResource((signal) => call<T>(read, { signal }));
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <Loaded from={loaded}>{(data) => children(data, loaded.reload)}</Loaded>
    </section>
  );
}

interface SavedFormProps {
  readonly save: () => Promise<unknown>;
  readonly onSaved: () => void;
  readonly children: (problemOf: (field: string) => string | undefined) => ComponentChildren;
}

function SavedForm({ save, onSaved, children }: SavedFormProps) {
  const action = useAction();
  const [isSaved, setSaved] = useState(false);
  const problem: ApiError | undefined = action.problem;
  return (
    <form
      onInput={() => setSaved(false)}
      onSubmit={(event) => {
        event.preventDefault();
        void action.run(async () => {
          await save();
          setSaved(true);
          onSaved();
        });
      }}
    >
      {children((field) => problem?.fields[field])}
      <Problem problem={problem} />
      <div class="row">
        <Button submit disabled={action.isBusy}>
          Save
        </Button>
        <span role="status">{isSaved && 'Saved.'}</span>
      </div>
    </form>
  );
}

function ClusterForm() {
  return (
    <Settings<Cluster> title="Cluster" read={routes.cluster}>
      {(cluster, reload) => <ClusterFields cluster={cluster} reload={reload} />}
    </Settings>
  );
}

function ClusterFields({ cluster, reload }: { cluster: Cluster; reload: () => void }) {
  const [clusterName, setName] = useState(cluster.clusterName);
  const [memoryQuota, setMemory] = useState(String(cluster.memoryQuota));
  const [indexMemoryQuota, setIndexMemory] = useState(String(cluster.indexMemoryQuota));
  const form = { clusterName, memoryQuota, indexMemoryQuota };
  return (
    <SavedForm save={() => call(routes.setCluster, { form })} onSaved={reload}>
      {(problemOf) => (
        <div class="row fields">
          <Field
            label="Cluster name"
            value={clusterName}
            onInput={setName}
            problem={problemOf('clusterName')}
          />
          <Field
            label="Data memory of each node in MiB"
            type="number"
            value={memoryQuota}
            onInput={setMemory}
            problem={problemOf('memoryQuota')}
          />
          <Field
            label="Index memory of each node in MiB"
            type="number"
            value={indexMemoryQuota}
            onInput={setIndexMemory}
            problem={problemOf('indexMemoryQuota')}
          />
        </div>
      )}
    </SavedForm>
  );
}

interface Failover {
  readonly enabled: boolean;
  readonly timeout: number;
  readonly maxCount?: number;
}

function FailoverForm() {
  return (
    <Settings<Failover> title="Automatic failover" read={routes.autoFailover}>
      {(settings, reload) => <FailoverFields settings={settings} reload={reload} />}
    </Settings>
  );
}

function FailoverFields({ settings, reload }: { settings: Failover; reload: () => void }) {
  const [enabled, setEnabled] = useState(settings.enabled);
  const [timeout, setSeconds] = useState(String(settings.timeout));
  const form = enabled ? { enabled, timeout } : { enabled };
  return (
    <SavedForm save={() => call(routes.setAutoFailover, { form })} onSaved={reload}>
      {(problemOf) => (
        <>
          <Checkbox label="Fail over nodes that do not answer" checked={enabled} onChange={setEnabled} />
          <Field
            label="After so many seconds"
            type="number"
            value={timeout}
            onInput={setSeconds}
            disabled={!enabled}
            problem={problemOf('timeout')}
          />
        </>
      )}
    </SavedForm>
  );
}

interface Compaction {
  readonly autoCompactionSettings: {
    readonly parallelDBAndViewCompaction: boolean;
    readonly databaseFragmentationThreshold: { readonly percentage: number | string };
  };
  readonly purgeInterval: number;
}

function CompactionForm() {
  return (
    <Settings<Compaction> title="Compaction" read={routes.autoCompaction}>
      {(settings, reload) => <CompactionFields settings={settings} reload={reload} />}
    </Settings>
  );
}

function CompactionFields({ settings, reload }: { settings: Compaction; reload: () => void }) {
  const { parallelDBAndViewCompaction, databaseFragmentationThreshold } = settings.autoCompactionSettings;
  const [percentage, setPercentage] = useState(String(databaseFragmentationThreshold.percentage));
  const [purgeInterval, setPurge] = useState(String(settings.purgeInterval));
  const name = 'databaseFragmentationThreshold[percentage]';
  const form = { parallelDBAndViewCompaction, [name]: percentage, purgeInterval };
  return (
    <SavedForm save={() => call(routes.setAutoCompaction, { form })} onSaved={reload}>
      {(problemOf) => (
        <div class="row fields">
          <Field
            label="Compact files whose unused share in percent reaches"
            type="number"
            value={percentage}
            onInput={setPercentage}
            problem={problemOf(name)}
          />
          <Field
            label="Remember deletions for so many days"
            value={purgeInterval}
            onInput={setPurge}
            problem={problemOf('purgeInterval')}
          />
        </div>
      )}
    </SavedForm>
  );
}

interface Policy {
  readonly minLength: number;
  readonly enforceUppercase: boolean;
  readonly enforceLowercase: boolean;
  readonly enforceDigits: boolean;
  readonly enforceSpecialChars: boolean;
}

const classes = [
  ['enforceUppercase', 'Upper-case letters'],
  ['enforceLowercase', 'Lower-case letters'],
  ['enforceDigits', 'Digits'],
  ['enforceSpecialChars', 'Other characters'],
] as const;

function PasswordForm() {
  return (
    <Settings<Policy> title="Passwords" read={routes.passwordPolicy}>
      {(policy, reload) => <PasswordFields policy={policy} reload={reload} />}
    </Settings>
  );
}

function PasswordFields({ policy, reload }: { policy: Policy; reload: () => void }) {
  const [minLength, setLength] = useState(String(policy.minLength));
  const [required, setRequired] = useState<Readonly<Record<string, boolean>>>(
    Object.fromEntries(classes.map(([name]) => [name, policy[name]])),
  );
  return (
    <SavedForm
      save={() => call(routes.setPasswordPolicy, { form: { minLength, ...required } })}
      onSaved={reload}
    >
      {(problemOf) => (
        <>
          <Field
            label="Characters at least"
            type="number"
            value={minLength}
            onInput={setLength}
            problem={problemOf('minLength')}
          />
          <fieldset>
            <legend>Must contain</legend>
            {classes.map(([name, label]) => (
              <Checkbox
                key={name}
                label={label}
                checked={required[name] ?? false}
                onChange={(isRequired) => setRequired({ ...required, [name]: isRequired })}
              />
            ))}
          </fieldset>
        </>
      )}
    </SavedForm>
  );
}

interface Security {
  readonly tlsMinVersion: string;
  readonly disableUIOverHttp: boolean;
}

function SecurityForm() {
  return (
    <Settings<Security> title="Connections" read={routes.security}>
      {(settings, reload) => <SecurityFields settings={settings} reload={reload} />}
    </Settings>
  );
}

function SecurityFields({ settings, reload }: { settings: Security; reload: () => void }) {
  const [tlsMinVersion, setVersion] = useState(settings.tlsMinVersion);
  const [disableUIOverHttp, setDisabled] = useState(settings.disableUIOverHttp);
  const form = { tlsMinVersion, disableUIOverHttp };
  return (
    <SavedForm save={() => call(routes.setSecurity, { form })} onSaved={reload}>
      {(problemOf) => (
        <>
          <Select
            label="Oldest version of TLS"
            value={tlsMinVersion}
            onChange={setVersion}
            options={[
              ['tlsv1.2', 'TLS 1.2'],
              ['tlsv1.3', 'TLS 1.3'],
            ]}
            problem={problemOf('tlsMinVersion')}
          />
          <Checkbox
            label="Serve this console over encrypted connections only"
            checked={disableUIOverHttp}
            onChange={setDisabled}
          />
        </>
      )}
    </SavedForm>
  );
}
