// The body of every refusal. `goof` is the published name of the schema.
import { z } from 'zod';

export const apiErrorSchema = z.object({ errorType: z.string(), message: z.string() }).meta({ id: 'goof' });
