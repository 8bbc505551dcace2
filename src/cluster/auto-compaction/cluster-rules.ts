// Reads a form into the cluster's auto-compaction settings: those shared with buckets, and those of the cluster only.
import type { Form } from '#contract/route.ts';
import type { ClusterAutoCompaction, Edition } from '../config/cluster-state.ts';
import {
  cleared,
  compactionRules,
  numberField,
  type ProblemSink,
  purgeIntervalDays,
  wholePeriod,
} from './rules.ts';
import { compactionDefaults, weekDays } from './settings.ts';

const purgeDaysMin = 0.04;

/** Published tools send `full` for what the specification calls `standard`. */
const indexModes = ['standard', 'circular', 'full'];

export function readClusterSettings(
  form: Form,
  current: ClusterAutoCompaction,
  edition: Edition,
  problems: ProblemSink,
): ClusterAutoCompaction {
  const { databaseFragmentationThreshold: database, viewFragmentationThreshold: view } = current;
  return {
    ...compactionRules(form, { database, view }, problems),
    ...indexRules(form, current, edition, problems),
    purgeIntervalDays: purgeDays(form, current.purgeIntervalDays, problems),
  };
}

function purgeDays(form: Form, current: number, problems: ProblemSink): number {
  const fallback = form['purgeInterval'] === cleared ? compactionDefaults.purgeIntervalDays : current;
  return purgeIntervalDays(form, purgeDaysMin, problems) ?? fallback;
}

type IndexSettings = Pick<
  ClusterAutoCompaction,
  'indexCompactionMode' | 'indexCircularCompaction' | 'indexFragmentationThreshold'
>;

/** Omitted fields keep their value. The enterprise edition ignores all but the days, but refuses an unknown mode. */
function indexRules(
  form: Form,
  current: ClusterAutoCompaction,
  edition: Edition,
  problems: ProblemSink,
): IndexSettings {
  const daysOfWeek = indexDays(form, problems) ?? current.indexCircularCompaction.daysOfWeek;
  const { indexCompactionMode, indexFragmentationThreshold, indexCircularCompaction } = current;
  const mode = indexMode(form, problems) ?? indexCompactionMode;
  if (edition === 'enterprise') {
    const { interval } = indexCircularCompaction;
    return {
      indexCompactionMode,
      indexFragmentationThreshold,
      indexCircularCompaction: { daysOfWeek, interval },
    };
  }
  const interval = wholePeriod(form, 'indexCircularCompaction[interval]', problems);
  return {
    indexCompactionMode: mode,
    indexCircularCompaction: { daysOfWeek, interval: interval ?? indexCircularCompaction.interval },
    indexFragmentationThreshold: {
      percentage: numberField(
        form,
        'indexFragmentationThreshold[percentage]',
        { label: 'index fragmentation', min: 2, max: 100 },
        indexFragmentationThreshold.percentage,
        problems,
      ),
    },
  };
}

function indexMode(form: Form, problems: ProblemSink): string | undefined {
  const sent = form['indexCompactionMode'];
  if (sent !== undefined && !indexModes.includes(sent)) {
    problems.add('indexCompactionMode', `index compaction mode must be one of ${JSON.stringify(indexModes)}`);
  }
  return sent;
}

function indexDays(form: Form, problems: ProblemSink): string | undefined {
  const name = 'indexCircularCompaction[daysOfWeek]';
  const sent = form[name];
  if (sent?.split(',').some((day) => !weekDays.includes(day))) {
    problems.add(name, `index circular compaction days must be one of ${JSON.stringify(weekDays)}`);
  }
  return sent;
}
