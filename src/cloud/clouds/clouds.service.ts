// Adds clouds for a command of the operator; the API only lists them.
import { z } from 'zod';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import { invalid } from '../answers/api-error.ts';
import { oneOf, text } from '../answers/component.ts';
import type { CloudRow, Store } from '../store/tables.ts';

const awsRegions = [
  'us-east-1',
  'us-east-2',
  'us-west-2',
  'eu-west-1',
  'eu-central-1',
  'eu-west-2',
  'eu-west-3',
  'eu-north-1',
  'ap-southeast-1',
  'ap-northeast-1',
  'ap-southeast-2',
  'ap-northeast-2',
  'ap-south-1',
  'ca-central-1',
] as const;

const azureRegions = [
  'centralus',
  'eastus2',
  'eastus',
  'francecentral',
  'japaneast',
  'northeurope',
  'southeastasia',
  'uksouth',
  'westeurope',
  'westus2',
] as const;

const common = { name: text(1, 256), cidr: z.cidrv4('must be an IPv4 network such as 10.0.0.0/16') };

export const newCloud = z.discriminatedUnion(
  'provider',
  [
    z.strictObject({ provider: z.literal('aws'), region: oneOf(awsRegions), ...common }),
    z.strictObject({ provider: z.literal('azure'), region: oneOf(azureRegions), ...common }),
    z.strictObject({ provider: z.literal('gcp'), region: text(1, 64), ...common }),
  ],
  'must be one of aws, azure, gcp',
);
export type NewCloud = z.output<typeof newCloud>;

export interface CloudsOptions {
  store: Store;
  clock: Clock;
  random: Random;
}

export class CloudsService {
  private readonly options: CloudsOptions;

  constructor(options: CloudsOptions) {
    this.options = options;
  }

  /** Throws if the name exists. */
  async add(cloud: NewCloud): Promise<CloudRow> {
    const row = await this.addMissing(cloud);
    if (row === null) throw invalid(`name: there is a cloud "${cloud.name}" already`);
    return row;
  }

  /** Null if the name exists. */
  async addMissing(cloud: NewCloud): Promise<CloudRow | null> {
    const { store, clock, random } = this.options;
    const row = { ...cloud, id: random.uuid(), status: 'ready', created_at: clock.wallMs() };
    const { numInsertedOrUpdatedRows } = await store
      .insertInto('clouds')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n ? row : null;
  }

  list(): Promise<CloudRow[]> {
    return this.options.store.selectFrom('clouds').selectAll().orderBy('name').execute();
  }
}
