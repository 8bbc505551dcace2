// Plans: what is backed up and merged when.
import { backupRefusals } from './backup.refusals.ts';
import type { BackupState, BackupStateStore, Plan } from './backup-state.ts';
import { BodyError } from './body-fields.ts';
import { allPlans, isPredefined, planOf, plansMax, readPlan } from './plans.ts';

/** Ids of plans and repositories. */
export const idPattern = /^[0-9A-Za-z][0-9A-Za-z_-]{0,49}$/;

export class PlansService {
  readonly #state: BackupStateStore;

  constructor(state: BackupStateStore) {
    this.#state = state;
  }

  list(): Plan[] {
    return allPlans(this.#state.value.plans);
  }

  get(name: string): Plan {
    const plan = planOf(this.#state.value.plans, name);
    if (plan === undefined) throw backupRefusals.planNotFound();
    return plan;
  }

  async create(name: string, body: Buffer): Promise<void> {
    if (isPredefined(name)) throw backupRefusals.planExists(name);
    if (!idPattern.test(name)) throw backupRefusals.invalidId('plan');
    const plan = planIn(body, name);
    await this.#change((plans) => {
      if (Object.hasOwn(plans, name)) throw backupRefusals.planExists(name);
      if (Object.keys(plans).length >= plansMax)
        throw backupRefusals.tooMany(`at most ${plansMax} plans are possible`);
      return { ...plans, [name]: plan };
    });
  }

  async replace(name: string, body: Buffer): Promise<void> {
    this.#checkKnown(name);
    const plan = planIn(body, name);
    await this.#change((plans, state) => {
      this.#checkUnused(name, plans, state);
      return { ...plans, [name]: plan };
    });
  }

  async delete(name: string): Promise<void> {
    this.#checkKnown(name);
    await this.#change((plans, state) => {
      this.#checkUnused(name, plans, state);
      const { [name]: _deleted, ...others } = plans;
      return others;
    });
  }

  #checkKnown(name: string): void {
    this.get(name);
    if (isPredefined(name)) throw backupRefusals.planPredefined(name);
  }

  #checkUnused(name: string, plans: BackupState['plans'], { repositories }: BackupState): void {
    if (!Object.hasOwn(plans, name)) throw backupRefusals.planNotFound();
    const using = Object.values(repositories.active).find(({ plan }) => plan === name);
    if (using !== undefined) throw backupRefusals.planInUse(using.id);
  }

  async #change(
    next: (plans: BackupState['plans'], state: BackupState) => BackupState['plans'],
  ): Promise<void> {
    await this.#state.change((before) => ({ ...before, plans: next(before.plans, before) }));
  }
}

function planIn(body: Buffer, name: string): Plan {
  try {
    return readPlan(body, name);
  } catch (error) {
    if (error instanceof BodyError) throw backupRefusals.invalidPlan(undefined, error.message);
    throw error;
  }
}
