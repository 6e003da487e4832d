// Finds steps, phases and rollbacks of a document that may still have errors, so that rules are checked in the same run as the
// structure. Nodes of the wrong type are skipped; the structural check has reported them.

import { parseOffsetMinutes } from '../../base/text/duration.ts'
import { named } from '../../base/text/same-name.ts'
import type { Entry, MapNode, Node, ScalarNode } from './tree.ts'

export interface StepOutline {
  readonly node: MapNode
  readonly path: string
  readonly name: string
  /** What a step with `notify` may send. */
  readonly texts: readonly MessageTextOutline[]
}

/** A subject or a body. */
export interface MessageTextOutline {
  readonly node: ScalarNode
  readonly text: string
  readonly path: string
  readonly isCorrection: boolean
}

export interface PhaseOutline {
  readonly node: MapNode
  readonly path: string
  readonly name: string
  readonly offsetMinutes: number
  readonly steps: readonly StepOutline[]
}

export interface RollbackOutline {
  readonly entry: Entry
  readonly path: string
  readonly steps: readonly StepOutline[]
}

export interface Outline {
  readonly dataSource: MapNode | null
  readonly messages: MapNode | null
  readonly people: MapNode | null
  readonly init: readonly StepOutline[]
  readonly phases: readonly PhaseOutline[]
  readonly removal: readonly StepOutline[]
  readonly rollbacks: readonly RollbackOutline[]
}

export function outlineOf(root: MapNode): Outline {
  const messages = mapAt(root, 'messages')
  const stepsOf = (node: Node | null, path: string): StepOutline[] =>
    mapsOf(node, path).map((step) => ({
      ...step,
      name: textAt(step.node, 'name') ?? '',
      texts: textsSentBy(step.node, messages),
    }))
  return {
    dataSource: mapAt(root, 'data_source'),
    messages,
    people: mapAt(root, 'people'),
    init: stepsOf(nodeAt(root, 'init'), 'init'),
    phases: mapsOf(nodeAt(root, 'phases'), 'phases').map(({ node, path }) => ({
      node,
      path,
      name: textAt(node, 'name') ?? '',
      offsetMinutes: parseOffsetMinutes(textAt(node, 'offset') ?? '') ?? 0,
      steps: stepsOf(nodeAt(node, 'steps'), `${path}.steps`),
    })),
    removal: stepsOf(nodeAt(root, 'on_member_removed'), 'on_member_removed'),
    rollbacks: entriesAt(root, 'rollbacks').map((entry) => {
      const path = `rollbacks.${entry.key}`
      return { entry, path, steps: stepsOf(entry.value, path) }
    }),
  }
}

export const outlinedSteps = ({ init, phases, removal, rollbacks }: Outline): StepOutline[] => [
  ...init,
  ...phases.flatMap(({ steps }) => steps),
  ...removal,
  ...rollbacks.flatMap(({ steps }) => steps),
]

function textsSentBy(step: MapNode, messages: MapNode | null): MessageTextOutline[] {
  const message = messageNamed(messages, textAt(mapAt(step, 'notify'), 'message'))
  if (!message) return []
  const correction = messageNamed(messages, textAt(message.node, 'correction'))
  return [
    ...textsOfMessage(message, false),
    ...(correction ? textsOfMessage(correction, true) : []),
  ]
}

export interface MessageOutline {
  readonly name: string
  readonly node: MapNode
  readonly path: string
}

export function messageNamed(messages: MapNode | null, name: string | null): MessageOutline | null {
  if (name === null) return null
  return named(messagesIn(messages), name) ?? null
}

export const messagesIn = (messages: MapNode | null): MessageOutline[] =>
  entriesAt(messages, 'templates').flatMap(({ key, value }) =>
    value.kind === 'map' ? [{ name: key, node: value, path: `messages.templates.${key}` }] : [],
  )

export const textsOfMessage = (
  { node, path }: MessageOutline,
  isCorrection: boolean,
): MessageTextOutline[] =>
  entriesAt(node, 'texts').flatMap(({ key: language, value }) =>
    ['subject', 'body'].flatMap((part) => {
      const text = value.kind === 'map' ? scalarAt(value, part) : null
      return typeof text?.value === 'string'
        ? [
            {
              node: text,
              text: text.value,
              path: `${path}.texts.${language}.${part}`,
              isCorrection,
            },
          ]
        : []
    }),
  )

export function mapsOf(node: Node | null, path: string): { node: MapNode; path: string }[] {
  if (node?.kind !== 'list') return []
  return node.items.flatMap((item, index) =>
    item.kind === 'map' ? [{ node: item, path: `${path}[${index}]` }] : [],
  )
}

export const nodeAt = (map: MapNode | null, key: string): Node | null =>
  map?.entries.get(key)?.value ?? null

export function mapAt(map: MapNode | null, key: string): MapNode | null {
  const node = nodeAt(map, key)
  return node?.kind === 'map' ? node : null
}

export function scalarAt(map: MapNode | null, key: string): ScalarNode | null {
  const node = nodeAt(map, key)
  return node?.kind === 'scalar' && node.value !== null ? node : null
}

export function textAt(map: MapNode | null, key: string): string | null {
  const value = scalarAt(map, key)?.value
  return typeof value === 'string' ? value : null
}

export const entriesAt = (map: MapNode | null, key: string): Entry[] => [
  ...(mapAt(map, key)?.entries.values() ?? []),
]

/** The texts of a list, such as declared columns. */
export function textsAt(
  map: MapNode | null,
  key: string,
): { node: ScalarNode; text: string; path: string }[] {
  const list = nodeAt(map, key)
  if (list?.kind !== 'list') return []
  return list.items.flatMap((node, index) =>
    node.kind === 'scalar' && typeof node.value === 'string'
      ? [{ node, text: node.value, path: `${key}[${index}]` }]
      : [],
  )
}
