// The change window of a planned phase, and of a batch now, in answers.
import { z } from 'zod'
import { nullableDateTime, nullableText } from './shapes.ts'

const window = z.strictObject({
  isOpen: z.boolean().meta({ description: 'Its changes begin when the phase does.' }),
  closesAt: nullableDateTime.meta({ description: 'Of an open window; null when it stays open.' }),
  opensAt: nullableDateTime.meta({
    description: 'Of a closed window: changes begin then. Null when none opens within a year.',
  }),
  timeZone: z.string(),
  freezeReason: nullableText,
})

export const phaseWindowShape = window.nullable().meta({
  description:
    'Whether it is due inside the change windows. Null without windows, without a time, and for a phase that only reads.',
})

export const windowNowShape = window.nullable().meta({
  description:
    'Whether the change windows are open now, an override included. Null without windows, and for an ended batch.',
})
