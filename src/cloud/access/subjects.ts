// The objects that an id in a path can name: their kinds, tables and projects.
import type { ClusterRow, OperationRow, ProjectRow, Store } from '../store/tables.ts';

export interface Subjects {
  project: ProjectRow;
  cluster: ClusterRow;
  operation: OperationRow;
}
export type SubjectKind = keyof Subjects;
export type Subject = Subjects[SubjectKind];

const tables = { project: 'projects', cluster: 'clusters', operation: 'operations' } as const;

export function findSubject(store: Store, kind: SubjectKind, id: string): Promise<Subject | undefined> {
  // The query builder cannot type a query over one of three tables; all three have the column `id`.
  const rows = store.selectFrom(tables[kind] as 'clusters').selectAll();
  return rows.where('id', '=', id).executeTakeFirst();
}

export const projectOf = (subject: Subject): string =>
  'project_id' in subject ? subject.project_id : subject.id;
