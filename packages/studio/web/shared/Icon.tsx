/** Icons, drawn on a grid of 24. They are hidden from screen readers: their container has the label. */

const paths = {
  plus: "M12 5v14M5 12h14",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM20 20l-4-4",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M8 8h8v8H8z",
  play: "M9 6.500v11l8.500-5.500z",
  attach: "m20 11-8.5 8.5a5 5 0 0 1-7-7L13 4a3.4 3.4 0 0 1 4.8 4.8l-8.3 8.3a1.7 1.7 0 0 1-2.4-2.4L14.5 7.300",
  close: "M6 6l12 12M18 6 6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  check: "m5 12.500 4.500 4.500L19 7.500",
  cross: "M7 7l10 10M17 7 7 17",
  warn:
    "M12 9v4.500M12 17h.01M10.300 4.600 2.900 17.500A2 2 0 0 0 4.600 20.500h14.800a2 2 0 0 0 1.700-3L13.700 4.600a2 2 0 0 0-3.400 0Z",
  retry:
    "M4 12a8 8 0 0 1 13.700-5.600L20 8.500M20 4v4.500h-4.500M20 12a8 8 0 0 1-13.700 5.600L4 15.500M4 20v-4.500h4.500",
  copy: "M9 9h10v11H9zM5 15V4h10",
  chevron: "m9 6 6 6-6 6",
  sun:
    "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 3v1.500M12 19.500V21M3 12h1.500M19.500 12H21M5.600 5.600l1.100 1.100M17.300 17.300l1.100 1.100M5.600 18.400l1.100-1.100M17.300 6.700l1.100-1.100",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4 8.500 8.500 0 1 0 20 14.500Z",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  hand: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 8v5M12 16h.01",
  wrench: "M15 6a4.500 4.500 0 0 0-5.700 5.700L4 17l3 3 5.300-5.300A4.500 4.500 0 0 0 18 9l-3 3-3-3 3-3Z",
  agent:
    "M12 3v3M6 9a3 3 0 0 1 3-3h6a3 3 0 0 1 3 3v6a3 3 0 0 1-3 3H9a3 3 0 0 1-3-3zM10 11v1.500M14 11v1.500M3 12h3M18 12h3M9 21h6",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3 2",
  file: "M7 3h7l5 5v13H7zM14 3v5h5",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  thumbUp: "M7 11v9H4v-9zM7 11l4-7a2 2 0 0 1 2 2v4h5a2 2 0 0 1 2 2.300l-1 6A2 2 0 0 1 17 20H7",
  thumbDown: "M7 13V4H4v9zM7 13l4 7a2 2 0 0 0 2-2v-4h5a2 2 0 0 0 2-2.300l-1-6A2 2 0 0 0 17 4H7",
  down: "M12 5v14M6 13l6 6 6-6",
  question:
    "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM9.500 9.500a2.500 2.500 0 1 1 3.600 2.250c-.7.350-1.100.8-1.100 1.500v.250M12 16.500h.01",
  shield: "M12 3l7 3v5c0 4.500-3 8-7 10-4-2-7-5.500-7-10V6z",
  spark: "M12 4l1.800 5.200L19 11l-5.200 1.800L12 18l-1.800-5.200L5 11l5.200-1.800z"
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg
    className="icon-svg"
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.8"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    <path d={paths[name]} />
  </svg>
)
