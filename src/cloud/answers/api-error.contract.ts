// The body of every refusal.
import { z } from 'zod';

export const apiErrorSchema = z.object({ errorType: z.string(), message: z.string() }).meta({ id: 'goof' });
