// When files are compacted, and how long deletions are remembered.
import { routes } from '../api/routes.ts';
import { Checkbox, Field } from '../kit/controls.tsx';
import { SettingsSection } from './settings-section.tsx';

interface Period {
  readonly fromHour: number;
  readonly fromMinute: number;
  readonly toHour: number;
  readonly toMinute: number;
  readonly abortOutside: boolean;
}

interface Compaction {
  readonly autoCompactionSettings: {
    readonly parallelDBAndViewCompaction: boolean;
    readonly databaseFragmentationThreshold: {
      readonly percentage: number | string;
      /** In MiB. */
      readonly size: number | string;
    };
    readonly allowedTimePeriod?: Period;
  };
  /** In days. */
  readonly purgeInterval: number;
}

const shareField = 'databaseFragmentationThreshold[percentage]';
const sizeField = 'databaseFragmentationThreshold[size]';
/** How the API writes a number that is not set. */
const unset = 'undefined';

function valuesOf({ autoCompactionSettings: settings, purgeInterval }: Compaction) {
  const { percentage, size: sizeMb } = settings.databaseFragmentationThreshold;
  const { allowedTimePeriod: period } = settings;
  return {
    parallelDBAndViewCompaction: settings.parallelDBAndViewCompaction,
    [shareField]: textOf(percentage),
    [sizeField]: textOf(sizeMb),
    purgeInterval: String(purgeInterval),
    hasPeriod: period !== undefined,
    from: period ? timeText(period.fromHour, period.fromMinute) : '02:00',
    to: period ? timeText(period.toHour, period.toMinute) : '06:00',
    abortOutside: period?.abortOutside ?? false,
  };
}
type Values = ReturnType<typeof valuesOf>;

const textOf = (value: number | string): string => (value === unset ? '' : String(value));

const timeText = (hour: number, minute: number): string =>
  [hour, minute].map((part) => String(part).padStart(2, '0')).join(':');

/** A change without the period removes the period. */
function formOf({ hasPeriod, from, to, abortOutside, ...others }: Values) {
  const form = {
    ...others,
    [shareField]: others[shareField] || unset,
    [sizeField]: others[sizeField] || unset,
  };
  if (!hasPeriod) return form;
  const [fromHour, fromMinute] = from.split(':').map(Number);
  const [toHour, toMinute] = to.split(':').map(Number);
  const period = { fromHour, fromMinute, toHour, toMinute, abortOutside };
  const named = Object.entries(period).map(([name, value]) => [`allowedTimePeriod[${name}]`, value]);
  return { ...form, ...(Object.fromEntries(named) as Record<string, number | boolean>) };
}

export function CompactionSettings() {
  return (
    <SettingsSection
      title="Compaction"
      read={routes.autoCompaction}
      write={routes.setAutoCompaction}
      from={valuesOf}
      to={(values) => ({ form: formOf(values) })}
    >
      {(form) => (
        <>
          <div class="row fields">
            <Field
              label="Compact files whose unused share in percent reaches"
              type="number"
              {...form.text(shareField)}
              hint="Empty: the share does not count."
            />
            <Field
              label="Or whose unused size in MiB reaches"
              type="number"
              {...form.text(sizeField)}
              hint="Empty: the size does not count."
            />
            <Field label="Remember deletions for this many days" {...form.text('purgeInterval')} />
          </div>
          <Checkbox label="Only at a time of the day" {...form.flag('hasPeriod')} />
          {form.values.hasPeriod && (
            <>
              <div class="row fields">
                <Field
                  label="From"
                  type="time"
                  {...form.text('from')}
                  required
                  problem={
                    form.problemOf('allowedTimePeriod[fromHour]') ?? form.problemOf('allowedTimePeriod')
                  }
                />
                <Field
                  label="To"
                  type="time"
                  {...form.text('to')}
                  required
                  problem={form.problemOf('allowedTimePeriod[toHour]')}
                />
              </div>
              <Checkbox label="End a compaction that still runs then" {...form.flag('abortOutside')} />
            </>
          )}
        </>
      )}
    </SettingsSection>
  );
}
