// The body of every refusal.
import { z } from 'zod';

export const goofSchema = z.object({ errorType: z.string(), message: z.string() }).meta({ id: 'goof' });
