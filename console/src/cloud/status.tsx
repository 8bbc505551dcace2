// The status of a cluster as a badge.
import { Badge } from '../kit/notices.tsx';
import type { ClusterStatus } from './api/routes.ts';

const kinds: Readonly<Partial<Record<ClusterStatus, 'good' | 'caution' | 'wrong'>>> = {
  healthy: 'good',
  degraded: 'caution',
  deploymentFailed: 'wrong',
  scaleFailed: 'wrong',
  destroyFailed: 'wrong',
};

const changing: readonly ClusterStatus[] = ['deploying', 'scaling', 'destroying'];

export const isChanging = (status: ClusterStatus): boolean => changing.includes(status);

export function StatusBadge({ status }: { status: ClusterStatus }) {
  return <Badge kind={kinds[status] ?? 'plain'}>{wordsOf(status)}</Badge>;
}

/** `deploymentFailed` as `deployment failed`. */
export const wordsOf = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll('_', ' ');
