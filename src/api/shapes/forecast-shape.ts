// The forecast of a batch as the API shows it.
import { z } from 'zod'
import { FORECAST_SOURCES } from '../../domain/forecast/forecast.ts'
import { dateTime, nullableDateTime, wholeCount } from './shapes.ts'

const p90 = nullableDateTime.meta({
  description: 'Nine of ten such nights end by then. Null where it would be a guess.',
})

export const forecastMiss = z
  .strictObject({
    deadline: dateTime,
    deadlineOf: z.string().meta({ description: 'What begins then: T-0, or a phase.' }),
    bySec: wholeCount.meta({ description: 'By the p50; 0 when only the p90 is late.' }),
    since: nullableDateTime.meta({
      description: 'Since when people are told; null for the first minute.',
    }),
    text: z.string().meta({ description: 'A sentence; times in UTC.' }),
  })
  .meta({ id: 'ForecastMiss' })

const phaseForecast = z
  .strictObject({
    phaseId: z.int(),
    phaseName: z.string(),
    startsAt: nullableDateTime.meta({
      description: 'Of a phase to come: its time, or when the phases before have ended.',
    }),
    endsAt: nullableDateTime.meta({ description: 'The p50. Null where it would be a guess.' }),
    p90,
    source: z
      .enum(FORECAST_SOURCES)
      .nullable()
      .meta({ description: 'What the figures rest on; null when there are none.' }),
    because: z.string().meta({
      description: 'What the figures rest on, or why there are none; times in UTC.',
    }),
    miss: forecastMiss.nullable().meta({ description: 'It is forecast to miss its time.' }),
  })
  .meta({ id: 'PhaseForecast' })

export const nightForecast = z
  .strictObject({
    phaseName: z.string(),
    endsAt: nullableDateTime.meta({ description: 'The p50. Null where it would be a guess.' }),
    p90,
    because: z.string(),
  })
  .nullable()
  .meta({
    description:
      'The end of tonight: of the phases at work, and of those that follow with less than six hours between them.',
  })

export const forecast = z
  .strictObject({
    endsAt: nullableDateTime.meta({
      description: 'The p50. Null while held, or where it would be a guess.',
    }),
    p90,
    because: z.string(),
    heldSince: nullableDateTime,
    night: nightForecast,
    phases: z
      .array(phaseForecast)
      .meta({ description: 'The phases that have not ended, in order of time.' }),
  })
  .meta({ id: 'Forecast' })
