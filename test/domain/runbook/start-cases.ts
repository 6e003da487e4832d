// Problems of offsets, gates and ramps: what decides about the start of a phase. See cases.ts.
import type { Case } from './cases.ts'

export const START_CASES: readonly Case[] = [
  { code: 'BAD_OFFSET', edit: ['T-0', '«T-5»'], says: /T-5d/ },
  { code: 'BAD_OFFSET', edit: ['T-0', '«0»'], says: /Write T-0/ },
  {
    code: 'BAD_PERCENT',
    edit: ['offset: T-0', 'offset: T-0\n    gate: {approvals: 2, ready: «95 %»}'],
    says: /"95 %" is not a percentage from 1% to 100%.* Write 95%\./,
  },
  {
    code: 'BAD_PERCENT',
    edit: ['offset: T-0', 'offset: T-0\n    ramp: [5%, «50», 100%]'],
    says: /Write 50%\./,
  },
  {
    code: 'BAD_PERCENT',
    edit: ['offset: T-0', 'offset: T-0\n    ramp: [5%, «101%»]'],
    says: /^"101%" is not a percentage from 1% to 100%/,
  },
  {
    code: 'BAD_NUMBER',
    edit: ['offset: T-0', 'offset: T-0\n    gate: {approvals: «11»}'],
    says: /from 0 to 10/,
  },
  {
    code: 'RAMP_NOT_RISING',
    edit: ['offset: T-0', 'offset: T-0\n    ramp: [25%, «5%», 100%]'],
    says: /The share 5% follows 25%/,
  },
  {
    code: 'RAMP_INCOMPLETE',
    edit: ['offset: T-0', 'offset: T-0\n    ramp: [5%, «25%»]'],
    says: /Add 100% as its last share/,
  },
  {
    code: 'NO_EFFECT',
    edit: ['offset: T-0', 'offset: T-0\n    «soak»: 1h'],
    says: /"soak" has no effect without "ramp"/,
  },
]
