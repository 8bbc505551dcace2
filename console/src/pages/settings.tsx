// Settings of the cluster: name and memory, automatic failover, alerts, compaction, passwords, TLS and the console itself.
import { routes } from '../api/routes.ts';
import type { Cluster } from '../api/types.ts';
import { Checkbox, Field, Select } from '../kit/controls.tsx';
import { Page } from '../kit/notices.tsx';
import { AlertSettings } from './alert-settings.tsx';
import { CompactionSettings } from './compaction-settings.tsx';
import { SettingsSection } from './settings-section.tsx';

export function Content() {
  return (
    <Page title="Settings">
      <ClusterSettings />
      <FailoverSettings />
      <AlertSettings />
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
  /** In seconds. */
  readonly timeout: number;
}

function FailoverSettings() {
  return (
    <SettingsSection
      title="Automatic failover"
      read={routes.autoFailover}
      write={routes.setAutoFailover}
      from={({ enabled, timeout }: Failover) => ({ enabled, timeout: String(timeout) })}
      to={({ enabled, timeout }) => ({ form: enabled ? { enabled, timeout } : { enabled } })}
    >
      {(form) => (
        <>
          <Checkbox label="Fail over nodes that do not answer" {...form.flag('enabled')} />
          <Field
            label="After this many seconds"
            type="number"
            {...form.text('timeout')}
            disabled={!form.values.enabled}
          />
        </>
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
  readonly honorCipherOrder: boolean;
  readonly cipherSuites: readonly string[];
  readonly disableUIOverHttp: boolean;
  readonly disableUIOverHttps: boolean;
}

function ConnectionSettings() {
  return (
    <SettingsSection
      title="Connections"
      read={routes.security}
      write={routes.setSecurity}
      from={(security: Security) => ({
        tlsMinVersion: security.tlsMinVersion,
        honorCipherOrder: security.honorCipherOrder,
        cipherSuites: security.cipherSuites.join(','),
        disableUIOverHttp: security.disableUIOverHttp,
        disableUIOverHttps: security.disableUIOverHttps,
      })}
      to={({ cipherSuites, ...others }) => ({
        form: { ...others, cipherSuites: JSON.stringify(namesIn(cipherSuites)) },
      })}
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
          <Field
            label="Cipher suites"
            {...form.text('cipherSuites')}
            mono
            hint="Their names, separated by commas; empty: all that are safe."
          />
          <Checkbox
            label="The node chooses among the suites of a client"
            {...form.flag('honorCipherOrder')}
          />
          <Checkbox
            label="Serve this console over encrypted connections only"
            {...form.flag('disableUIOverHttp')}
          />
          <Checkbox
            label="Serve no console over encrypted connections"
            {...form.flag('disableUIOverHttps')}
          />
        </>
      )}
    </SettingsSection>
  );
}

const namesIn = (text: string): string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
