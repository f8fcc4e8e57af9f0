// The two parts of lost_wakeup.
#pragma once

// Exit status, as lost_wakeup's.
int stop_at_each_instruction();
