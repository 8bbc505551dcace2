// Metrics of the machine and of this process. In a container the limits of the container apply.
import { sampleOf } from '#metrics/catalog.ts';
import type { MetricSample } from '#metrics/sample.ts';
import { type SystemFigures, usedShare } from '../nodes/system.ts';

/** This process, with all its threads. */
export interface ProcessFigures {
  userSeconds: number;
  systemSeconds: number;
  residentBytes: number;
  /** Page faults: minor (page in memory) and major (read from disk). */
  minorFaults: number;
  majorFaults: number;
  /** Seconds since 1970. */
  startedSeconds: number;
}

export function* machineMetrics({
  cpu,
  memory,
  disk,
  allocationStalls,
}: SystemFigures): Generator<MetricSample> {
  yield sampleOf('sys_cpu_utilization_rate', {}, cpu.utilization);
  yield sampleOf('sys_cpu_user_rate', {}, cpu.user);
  yield sampleOf('sys_cpu_sys_rate', {}, cpu.system);
  yield sampleOf('sys_cpu_irq_rate', {}, cpu.irq);
  yield sampleOf('sys_cpu_stolen_rate', {}, cpu.stolen);
  yield sampleOf('sys_cpu_host_utilization_rate', {}, cpu.host.utilization);
  yield sampleOf('sys_cpu_host_user_rate', {}, cpu.host.user);
  yield sampleOf('sys_cpu_host_sys_rate', {}, cpu.host.system);
  yield sampleOf('sys_cpu_cores_available', {}, cpu.cores);
  yield sampleOf('sys_cpu_host_cores_available', {}, cpu.count);
  yield sampleOf('sys_mem_total', {}, memory.total);
  yield sampleOf('sys_mem_limit', {}, memory.limit);
  yield sampleOf('sys_mem_free', {}, memory.free);
  yield sampleOf('sys_mem_used_sys', {}, memory.used);
  yield sampleOf('sys_mem_actual_free', {}, memory.free);
  yield sampleOf('sys_mem_actual_used', {}, Math.max(memory.limit - memory.free, 0));
  yield sampleOf('sys_swap_total', {}, memory.swapTotal);
  yield sampleOf('sys_swap_used', {}, memory.swapUsed);
  yield sampleOf('sys_allocstall', {}, allocationStalls);
  yield sampleOf('sys_disk_usage_ratio', { disk: disk.mountPoint }, usedShare(disk));
}

export function* processMetrics(figures: ProcessFigures): Generator<MetricSample> {
  const labels = { proc: 'divan' };
  yield sampleOf('sysproc_cpu_seconds_total', { ...labels, mode: 'user' }, figures.userSeconds);
  yield sampleOf('sysproc_cpu_seconds_total', { ...labels, mode: 'sys' }, figures.systemSeconds);
  yield sampleOf('sysproc_mem_resident', labels, figures.residentBytes);
  yield sampleOf('sysproc_minor_faults_raw', labels, figures.minorFaults);
  yield sampleOf('sysproc_major_faults_raw', labels, figures.majorFaults);
  yield sampleOf('sysproc_page_faults_raw', labels, figures.minorFaults + figures.majorFaults);
  yield sampleOf('sysproc_start_time', labels, figures.startedSeconds);
}
