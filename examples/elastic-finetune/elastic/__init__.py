"""Makes a fine-tuned BERT, DistilBERT or RoBERTa elastic: all its submodels are trained together.

A submodel executes n of the N layers and, of each, the first m of the M heads with as large a part
of the FFN's neurons (STI 4.1). The programs beside this package are what people run.
"""

import os

# Large tensors come and go at every step. In huge pages they cost fewer page faults; PyTorch asks at the first one.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
