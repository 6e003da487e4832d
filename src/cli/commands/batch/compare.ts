// `matoolkit batch get 7 --with 3`: two waves side by side.
import { type ToldWave, waveFacts } from '../../../domain/plan/wave-facts.ts'
import type { CommandContext } from '../../program/command-context.ts'
import { namedBatch } from './named.ts'

export async function runCompare(
  { client, show }: CommandContext,
  ids: readonly (string | undefined)[],
): Promise<void> {
  const waves: (ToldWave & { readonly id: number })[] = []
  for (const id of ids) {
    const params = namedBatch(id)
    const { batch, phases } = await client.call('GET /api/batches/{batchId}/summary', { params })
    const { groups } = await client.call('GET /api/batches/{batchId}/failures', { params })
    waves.push({ id: params.batchId, batch, phases, groups })
  }
  const facts = waves.map(waveFacts)
  const rows = [...new Set(facts.flatMap((one) => [...one.keys()]))].map((fact) => ({
    fact,
    values: facts.map((one) => one.get(fact) ?? null),
  }))
  await show.list({
    whole: { waves },
    rows,
    columns: [
      ['', 'fact'],
      ...waves.map(
        ({ id }, at) =>
          [`BATCH ${id}`, ({ values }: (typeof rows)[number]) => values[at] ?? null] as const,
      ),
    ],
    empty: '',
  })
}
