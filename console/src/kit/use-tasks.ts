// The tasks of the cluster, loaded often while one runs and rarely otherwise: an open console should cost the node little.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Task } from '../api/types.ts';
import { type Resource, useResource } from './use-resource.ts';

const [whileRunningMs, whileIdleMs] = [1_000, 5_000];

export function useTasks(): Resource<Task[]> {
  return useResource(
    (signal) => call<Task[]>(routes.tasks, { signal }),
    [],
    (tasks) => (tasks.some(({ status }) => status === 'running') ? whileRunningMs : whileIdleMs),
  );
}
