// The audit log: whether it is written, where, and which events it leaves out.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Checkbox, Field } from '../kit/controls.tsx';
import { Loaded } from '../kit/notices.tsx';
import { useResource } from '../kit/use-resource.ts';
import { SettingsSection } from './settings-section.tsx';

interface Audit {
  readonly auditdEnabled: boolean;
  readonly logPath: string;
  /** In seconds. */
  readonly rotateInterval: number;
  /** In bytes. */
  readonly rotateSize: number;
  readonly disabled: readonly number[];
  readonly disabledUsers: readonly { readonly name: string; readonly domain: string }[];
}

interface AuditEvent {
  readonly id: number;
  readonly name: string;
  readonly description: string;
}

const [minuteSeconds, mib] = [60, 1 << 20];

export function AuditSettings() {
  return (
    <SettingsSection
      title="Audit log"
      read={routes.audit}
      write={routes.setAudit}
      from={(audit: Audit) => ({
        auditdEnabled: audit.auditdEnabled,
        logPath: audit.logPath,
        rotateInterval: String(audit.rotateInterval / minuteSeconds),
        rotateSize: String(audit.rotateSize / mib),
        disabledUsers: audit.disabledUsers.map(({ name, domain }) => `${name}/${domain}`).join(','),
        disabled: audit.disabled,
      })}
      to={({ disabled, rotateInterval, rotateSize, ...others }) => ({
        form: {
          ...others,
          rotateInterval: Number(rotateInterval) * minuteSeconds,
          rotateSize: Math.round(Number(rotateSize) * mib),
          disabled: disabled.join(','),
        },
      })}
    >
      {(form) => (
        <>
          <Checkbox label="Write an audit log" {...form.flag('auditdEnabled')} />
          <div class="row fields">
            <Field label="Folder on each node" {...form.text('logPath')} mono />
            <Field label="New file after minutes" type="number" {...form.text('rotateInterval')} />
            <Field label="New file after MiB" type="number" {...form.text('rotateSize')} />
          </div>
          <Field
            label="Users whose events are left out"
            {...form.text('disabledUsers')}
            hint="Each with its domain, separated by commas: app/local,ann/external"
          />
          <details>
            <summary>Events in the log</summary>
            <AuditEvents disabled={form.values.disabled} onChange={(ids) => form.set('disabled', ids)} />
          </details>
        </>
      )}
    </SettingsSection>
  );
}

interface AuditEventsProps {
  readonly disabled: readonly number[];
  readonly onChange: (disabled: readonly number[]) => void;
}

function AuditEvents({ disabled, onChange }: AuditEventsProps) {
  const events = useResource((signal) => call<AuditEvent[]>(routes.auditEvents, { signal }));
  return (
    <Loaded from={events}>
      {(list) => (
        <fieldset>
          <legend>Events that can be left out</legend>
          {list.map(({ id, name, description }) => (
            <Checkbox
              key={id}
              label={`${name}: ${description}`}
              checked={!disabled.includes(id)}
              onChange={(isLogged) =>
                onChange(isLogged ? disabled.filter((each) => each !== id) : [...disabled, id])
              }
            />
          ))}
        </fieldset>
      )}
    </Loaded>
  );
}
