// Settings of the cluster: name and memory, automatic failover, compaction, passwords, TLS and the console itself.
import { routes } from '../api/routes.ts';
import type { Cluster } from '../api/types.ts';
import { Checkbox, Field, Select } from '../kit/controls.tsx';
import { Page } from '../kit/notices.tsx';
import { SettingsSection } from './settings-section.tsx';

export function Content() {
  return (
    <Page title="Settings">
      <ClusterSettings />
      <FailoverSettings />
      <CompactionSettings />
      <PasswordSettings />
      <ConnectionSettings />
    </Page>
  );
}

function ClusterSettings() {
  return (
    <SettingsSection
      title="Cluster"
      read={routes.cluster}
      write={routes.setCluster}
      from={({ clusterName, memoryQuota, indexMemoryQuota }: Cluster) => ({
        clusterName,
        memoryQuota: String(memoryQuota),
        indexMemoryQuota: String(indexMemoryQuota),
      })}
    >
      {(form) => (
        <div class="row fields">
          <Field label="Cluster name" {...form.text('clusterName')} />
          <Field label="Data memory of each node in MiB" type="number" {...form.text('memoryQuota')} />
          <Field label="Index memory of each node in MiB" type="number" {...form.text('indexMemoryQuota')} />
        </div>
      )}
    </SettingsSection>
  );
}

interface Failover {
  readonly enabled: boolean;
  readonly timeout: number;
}

function FailoverSettings() {
  return (
    <SettingsSection
      title="Automatic failover"
      read={routes.autoFailover}
      write={routes.setAutoFailover}
      from={({ enabled, timeout }: Failover) => ({ enabled, timeout: String(timeout) })}
      to={({ enabled, timeout }) => (enabled ? { enabled, timeout } : { enabled })}
    >
      {(form) => (
        <>
          <Checkbox label="Fail over nodes that do not answer" {...form.flag('enabled')} />
          <Field
            label="After so many seconds"
            type="number"
            {...form.text('timeout')}
            disabled={!form.values.enabled}
          />
        </>
      )}
    </SettingsSection>
  );
}

interface Compaction {
  readonly autoCompactionSettings: {
    readonly parallelDBAndViewCompaction: boolean;
    readonly databaseFragmentationThreshold: { readonly percentage: number | string };
  };
  readonly purgeInterval: number;
}

const unusedShare = 'databaseFragmentationThreshold[percentage]';

function CompactionSettings() {
  return (
    <SettingsSection
      title="Compaction"
      read={routes.autoCompaction}
      write={routes.setAutoCompaction}
      from={({ autoCompactionSettings, purgeInterval }: Compaction) => ({
        parallelDBAndViewCompaction: autoCompactionSettings.parallelDBAndViewCompaction,
        [unusedShare]: String(autoCompactionSettings.databaseFragmentationThreshold.percentage),
        purgeInterval: String(purgeInterval),
      })}
    >
      {(form) => (
        <div class="row fields">
          <Field
            label="Compact files whose unused share in percent reaches"
            type="number"
            {...form.text(unusedShare)}
          />
          <Field label="Remember deletions for so many days" {...form.text('purgeInterval')} />
        </div>
      )}
    </SettingsSection>
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

function PasswordSettings() {
  return (
    <SettingsSection
      title="Passwords"
      read={routes.passwordPolicy}
      write={routes.setPasswordPolicy}
      from={(policy: Policy) => ({ ...policy, minLength: String(policy.minLength) })}
    >
      {(form) => (
        <>
          <Field label="Characters at least" type="number" {...form.text('minLength')} />
          <fieldset>
            <legend>Must contain</legend>
            {classes.map(([name, label]) => (
              <Checkbox key={name} label={label} {...form.flag(name)} />
            ))}
          </fieldset>
        </>
      )}
    </SettingsSection>
  );
}

interface Security {
  readonly tlsMinVersion: string;
  readonly disableUIOverHttp: boolean;
}

function ConnectionSettings() {
  return (
    <SettingsSection
      title="Connections"
      read={routes.security}
      write={routes.setSecurity}
      from={({ tlsMinVersion, disableUIOverHttp }: Security) => ({ tlsMinVersion, disableUIOverHttp })}
    >
      {(form) => (
        <>
          <Select
            label="Oldest version of TLS"
            {...form.choice('tlsMinVersion')}
            options={[
              ['tlsv1.2', 'TLS 1.2'],
              ['tlsv1.3', 'TLS 1.3'],
            ]}
          />
          <Checkbox
            label="Serve this console over encrypted connections only"
            {...form.flag('disableUIOverHttp')}
          />
        </>
      )}
    </SettingsSection>
  );
}
