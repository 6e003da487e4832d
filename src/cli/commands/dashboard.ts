// `matoolkit dashboard`: the link to the dashboard, with the token of this machine where people need none of their own.
import type { Command } from 'commander'
import { dashboardLink } from '../../base/keys/local-token.ts'
import { localTokenFor } from '../connection/instances.ts'
import type { Io } from '../terminal/io.ts'
import { addVerb } from './verb.ts'

export function addDashboardCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'dashboard',
    about: 'print the link to the dashboard',
    more: `On one machine the link holds a token: everybody with the link may do everything while the program runs. Elsewhere
people sign in on the page.`,
    isText: true,
    examples: ['dashboard', 'dashboard --output json'],
    run: async ({ client, profile, show }) => {
      const apiUrl = profile['api-url'].value!.replace(/\/$/, '')
      // Proves that the API is there, and that it is the one whose token this is.
      await client.call('GET /api/me')
      const token = localTokenFor(apiUrl)
      const url = token === null ? `${apiUrl}/` : dashboardLink(apiUrl, token)
      if (show.format === 'table') io.out(url)
      else await show.one({ url }, [['url', 'url']])
    },
  })
}
