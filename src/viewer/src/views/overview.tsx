// Overview: what ran, what is slow, what holds the memory, how far that can be trusted, and what is not known.
// In: meta; a few small blocks for what it does not have. Out: `View`. Left to neighbours: every list in full.
// It is drawn from meta before the blocks are read, and keeps room for what comes from them.

import { Banner } from "./overview/banner";
import { CoverageMatrix } from "./overview/coverage";
import { Findings, Gaps } from "./overview/findings";
import { Device, Gradients, PhysicalMemory, Values } from "./overview/cards";
import { Memory, Time } from "./overview/headlines";
import { Run } from "./overview/run";
import "./overview/overview.css";

export function View() {
  return (
    <div class="overview">
      <Banner />
      <Run />
      <div class="pair">
        <Time />
        <Memory />
      </div>
      <Findings />
      <div class="cards">
        <Gradients />
        <Values />
        <Device />
        <PhysicalMemory />
      </div>
      <CoverageMatrix />
      <Gaps />
    </div>
  );
}
