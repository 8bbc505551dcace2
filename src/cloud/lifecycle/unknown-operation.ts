// The end of an operation that a newer version began and this one does not know, as after a downgrade.
import type { Clock } from '#ports/clock.ts';
import { phaseAfterFailure } from '../clusters/phase.ts';
import type { Plan } from '../operations/step.ts';

/** Without it the cluster would keep the phase of the operation, in which it cannot be changed. */
export const unknownOperationFailed =
  (clock: Clock): Plan['failed'] =>
  async (transaction, clusterId) => {
    for (const [phase, failed] of Object.entries(phaseAfterFailure))
      await transaction
        .updateTable('clusters')
        .set({ phase: failed, updated_at: clock.wallMs() })
        .where('id', '=', clusterId)
        .where('phase', '=', phase)
        .execute();
  };
