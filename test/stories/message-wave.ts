// A wave that tells its people of their move, in two languages, two weeks and three days before.
import { runbook, step } from './looking.ts'
import { START } from './world.ts'

export const tell = (name: string, more = '') =>
  `{ name: ${name}, worker_id: w1, notify: { message: notice, to: "{{Mail}}", language: "{{Language}}" }${more} }`

export const MESSAGES = `
messages:
  from: migration@contoso.example
  default_language: en
  time_zone: Europe/Berlin
  templates:
    notice:
      correction: moved
      format: html
      texts:
        en: { subject: "Your move, {{Name}}", body: "<p>{{Name}}: {{_start_date}}, {{_start_time}}</p>" }
        de: { subject: "Ihr Umzug, {{Name}}", body: "<p>{{Name}}: {{_start_date}}, {{_start_time}}</p>" }
    moved:
      texts:
        en: { subject: "New date", body: "Not {{_former_date}} but {{_start_date}}" }
        de: { subject: "Neuer Termin", body: "Nicht {{_former_date}}, sondern {{_start_date}}" }`

export const wave = (prepare = step('sync'), more = '') =>
  runbook(
    'wave',
    {
      'announce T-14d': [tell('tell', more)],
      'prepare T-7d': [prepare],
      'remind T-3d': [tell('remind')],
      'cutover T-0': [step('switch')],
    },
    MESSAGES,
  )

export const DAY = 24 * 60
export const inDays = (days: number) => new Date(+START + days * DAY * 60_000)
export const person = (name: string, Language: string | null = 'en') => ({
  key: `${name}@contoso.example`,
  data: {
    UserPrincipalName: `${name}@contoso.example`,
    Mail: `${name}@contoso.example`,
    Name: name,
    Language,
  },
})
