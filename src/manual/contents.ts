// The pages of the manual in their order. The files are those of `docs`, so that they read the same in an editor.

export interface ManualPage {
  /** Below `/docs/`; empty for the first page. */
  readonly path: string;
  /** From the root of the project. */
  readonly file: string;
  /** In the list of pages. */
  readonly title: string;
  /** The same headings are repeated in the page, so the search counts only the text below them. */
  readonly repeatsHeadings?: true;
}

export interface ManualSection {
  readonly title: string;
  readonly pages: readonly ManualPage[];
}

/** The path of a picture from the root of the project; the manual serves no other files. */
export const imageFile = /^docs\/images\/[a-z\d-]+\.webp$/;

const guide = (name: string, title: string): ManualPage => ({
  path: `guides/${name}`,
  file: `docs/guides/${name}.md`,
  title,
});

const referencePage = (name: string, title: string): ManualPage => ({
  path: `reference/${name}`,
  file: `docs/reference/${name}.md`,
  title,
});

export const manualContents: readonly ManualSection[] = [
  { title: 'Start', pages: [{ path: '', file: 'README.md', title: 'Overview' }] },
  {
    title: 'Use it',
    pages: [
      guide('clients', 'Clients'),
      guide('query', 'Queries and indexes'),
      guide('console', 'The console'),
      guide('testing', 'Tests of Node programs'),
      guide('other-languages', 'Tests in other languages'),
      guide('continuous-integration', 'Continuous integration'),
      guide('init-file', 'Init files'),
      guide('import-export', 'Import and export'),
    ],
  },
  {
    title: 'Operate it',
    pages: [
      guide('operate', 'A node'),
      guide('cluster', 'A cluster'),
      guide('backup', 'Backup and restore'),
      guide('xdcr', 'Replication between clusters'),
      guide('nats', 'Configuration in NATS'),
      guide('cloud', 'The cloud'),
      { path: 'grafana', file: 'docs/grafana/README.md', title: 'Grafana' },
    ],
  },
  {
    title: 'Look it up',
    pages: [
      referencePage('command-line', 'Command line'),
      referencePage('rest-api', 'REST API'),
      referencePage('hosted-api', 'Hosted API'),
      referencePage('settings', 'Settings'),
      referencePage('errors', 'Errors of the REST API'),
      referencePage('data-port', 'Data port'),
      referencePage('functions', 'Functions of queries'),
      referencePage('query-differences', 'Differences of queries'),
      referencePage('compatibility', 'Compatibility'),
      referencePage('archive-format', 'Format of backups'),
      referencePage('performance', 'Performance'),
      referencePage('measurements', 'Measurements'),
      referencePage('fault-runs', 'Runs under faults'),
      { path: 'glossary', file: 'docs/glossary.md', title: 'Glossary' },
      { path: 'changelog', file: 'CHANGELOG.md', title: 'Changes', repeatsHeadings: true },
    ],
  },
];

export const manualPages: readonly ManualPage[] = manualContents.flatMap(({ pages }) => pages);
